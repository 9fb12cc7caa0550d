# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands that need no machine, except those that the tests of packages, profiles, sources and
# fleet cover.

test_every_documented_command_has_a_test() {
    local faults
    faults=$(node "$TOP/e2e/scripts/commands.mjs" missing)
    [ -z "$faults" ] || fail "$faults"
}

# Documented `-g` expressions must match tests. Playwright matches `project file subject title
# tags`.
test_documented_selections_find_tests() {
    local line words select
    (cd "$TOP/e2e" && RESULTS=listed REPORTS=$WORK npx --no-install playwright test --list \
        --reporter=list) | sed -E 's/^ *\[([a-z]+)\] › /\1 /; s/:[0-9]+:[0-9]+//
            s,tests/shell.ts,shell.spec.ts,; s/ › / /g' >"$WORK/tests"
    node "$TOP/e2e/scripts/commands.mjs" selects >"$WORK/selections"
    [ -s "$WORK/selections" ] || fail "no selection is documented"
    while read -r line; do
        eval "words=($line)"
        for select in "${!words[@]}"; do
            case ${words[select]} in -g | --grep) break ;; esac
        done
        grep -E "^(${words[0]//,/|}) " "$WORK/tests" |
            grep -E -- "${words[select + 1]}" >"$WORK/found" || fail "none: $line"
    done <"$WORK/selections"
}

test_an_unknown_command_shows_the_usage() {
    local said
    ! said=$(build nothing) || fail "it passed"
    has "$said" "usage: ./build.sh COMMAND" "unknown command 'nothing'"
    ! said=$(build lab --nothing) || fail "it passed"
    has "$said" "lab: unknown option '--nothing'"
    ! said=$(build test nothing) || fail "it passed"
    has "$said" "unknown kind 'nothing'"
}

# @runs ./build.sh page
# @runs ./build.sh test --shuffle 7
test_a_kind_runs_in_shuffled_order_and_leaves_only_its_build_folder() {
    build page >/dev/null
    mkdir "$WORK/tmp"
    has "$(env -u ASIDE_OF -u FAILURES CHOSEN=@core BUILD="$WORK/build" TMPDIR="$WORK/tmp" \
        "$TOP/build.sh" test --shuffle 7 sizes)" "seed 7" "1 passed, 0 failed, 0 skipped"
    rmdir "$WORK/tmp" || fail "left: $(ls "$WORK/tmp")"
}

# Unsteady rows of virtio-net are marked and ignored; unsteady rows of virtual Ethernet are
# compared.
# shellcheck disable=SC2016 # expanded by jq
test_unsteady_rows_of_a_bench_are_not_compared() {
    local row='{bench: $bench, machine: $machine, engine: $engine, ip: 4, nat: 1, size: 60,
        flows: 1, link: "plain", sum: "full", proto: "udp"}' report
    report=$(jq -n "def row(\$bench; \$machine; \$engine; costs): costs | to_entries[] as \$each |
            $row + {cost: \$each.value, run: \$each.key};
        row(\"virtio\"; \"virtio\"; \"tcx\"; [100, 120, 140]),
        row(\"virtio\"; \"virtio\"; \"flowtable\"; [200, 200]),
        row(\"veth\"; \"virtual\"; \"tcx\"; [100, 120, 140])" |
        jq -s --arg kernel 6 -f "$TOP/e2e/bench/report.jq")
    jq -e '[.unsteady[] | {bench, decides}] ==
        [{bench: "veth", decides: true}, {bench: "virtio", decides: false}] and
        ([.goals[].what | select(test("virtio"))] == [])' <<<"$report" || fail "$report"
    has "$(jq -r -f "$TOP/e2e/bench/table.jq" <<<"$report")" "not comparable"
}

# @runs ./build.sh firmware --list
test_firmware_lists_the_profiles() { has "$(build firmware --list)" x86-64 bananapi-bpi-r4; }

# @runs ./build.sh image-check x86-64
test_image_check_reports_the_size() {
    mkdir -p "$WORK/images/x86-64"
    gzip </dev/null >"$WORK/images/x86-64/openwrt-x86-64-squashfs-combined.img.gz"
    has "$(BUILD=$WORK build image-check x86-64)" "squashfs-combined.img.gz: 0 of 1000 MiB"
}

# @runs ./build.sh clean
test_clean_removes_every_generated_file() {
    local clone=$WORK/clone left
    git clone -q --shared "$TOP" "$clone"
    mkdir -p "$clone"/build/lab "$clone"/ui/{dist,node_modules}
    : >"$clone/feeds/fastpathd/source.mk"
    (unset BUILD LAB_RUN && "$clone/build.sh" clean >/dev/null)
    left=$(git -C "$clone" status --porcelain --ignored)
    [ -z "$left" ] || fail "left: $left"
}

# @runs ./build.sh shell gw
# @runs ./build.sh shell peers
# @runs ./build.sh ui-dev
test_a_lab_serves_shells_and_the_page() {
    local page
    "$LAB/lab" --machine uml up >"$WORK/up" 2>&1 ||
        skip "no user-mode machine: $(tail -n 1 "$WORK/up")"
    trap '"$LAB/lab" down >/dev/null 2>&1; kill $(jobs -p) 2>/dev/null' EXIT
    has "$(echo fastpathctl status | build shell gw)" flowtable
    has "$(echo ip netns list | build shell peers)" isp
    build ui-dev >"$WORK/ui-dev" &
    poll 60 grep -q 'Local:' "$WORK/ui-dev" || fail "$(cat "$WORK/ui-dev")"
    page=$(sed -n 's/.*Local: *//p' "$WORK/ui-dev")
    has "$(curl -sSf "$page")" "/src/main.ts"
}

# Without OpenWrt's SDK and sources, commands must fail with a message that names them.
# @runs ./build.sh packages x86-64
# @runs ./build.sh firmware x86-64 --from-source --openwrt DIR --download-mirror URL
# @runs ./build.sh sources x86-64
test_commands_that_need_openwrt_report_it_as_missing() {
    unshare --map-root-user --net true 2>/dev/null || skip "no network namespaces here"
    local said command
    export FIRMWARE_DIR=$WORK/openwrt BUILD=$WORK/nowhere
    for command in "packages x86-64" \
        "firmware x86-64 --from-source --openwrt http://127.0.0.1:1/o.git --download-mirror http://127.0.0.1:1"; do
        # shellcheck disable=SC2086 # one argument per word
        ! said=$(unshare --map-root-user --net "$TOP/build.sh" $command 2>&1) ||
            fail "$command: it passed"
        has "$said" "cannot be reached" "--openwrt DIR|URL"
    done
    ! said=$(build sources x86-64) || fail "it passed"
    has "$said" "build.sh firmware x86-64"
}
