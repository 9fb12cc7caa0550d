# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Defines a function test_KIND for each kind of test, which adds its results to the counts. Needs
# TOP and BUILD. e2e/scripts/test defines the tiers.

SRC=$TOP/feeds/fastpathd/src
# shellcheck source=e2e/scripts/inputs.sh
. "$TOP/e2e/scripts/inputs.sh"
# Regular expression for tags of selected tests; empty for all tests of a kind.
CHOSEN=${CHOSEN-}

count() {
    PASSED=$((PASSED + $1))
    FAILED=$((FAILED + $2))
    SKIPPED=$((SKIPPED + $3))
}

check() {
    if step "$@"; then count 1 0 0; else count 0 1 0; fi
}

log_of() { printf '%s/log/%s.log' "$BUILD" "$(printf '%s' "$1" | tr -c 'A-Za-z0-9\n' '-')"; }

# sum FILE REGEX: prints the sum of the numbers in all matches, one per match.
sum() {
    { grep -oE "$2" "$1" || true; } | awk '{ gsub(/[^0-9]/, ""); n += $0 } END { print n + 0 }'
}

# with_bpffs COMMAND…: runs COMMAND; for root, mounts a private bpffs if there is none.
with_bpffs() {
    if [ "$(id -u)" = 0 ] && [ "$(stat -f -c %T /sys/fs/bpf)" != bpf_fs ]; then
        export TOP BUILD
        export -f cargo_tests with_clippy
        # shellcheck disable=SC2016 # expanded by the inner shell
        set -- unshare --mount bash -c 'mount -t bpf bpf /sys/fs/bpf && "$@"' bash "$@"
    fi
    "$@"
}

skipped_kind() {
    say "skipped: $1"
    count 0 0 1
}

skips() {
    local n
    n=$(grep -c '^skipped: ' "$1" || true)
    [ "$n" = 0 ] && return 0
    grep '^skipped: ' "$1" | sort -u | sed 's/^/    /'
    SKIPPED=$((SKIPPED + n))
}

# lint TITLE "FOLDER…" COMMAND…: runs a check of the files in these folders. Skips it if it has
# passed with the same files, unless AGAIN=1.
lint() {
    local what=$1 folders=$2 seen hash
    shift 2
    seen=$BUILD/passed/${what// /-}
    # shellcheck disable=SC2086 # one folder per word
    hash=$(project_files $folders | cat - <(printf '%s\n' "$@") | sha256sum)
    if [ -z "${AGAIN-}" ] && [ "$(cat "$seen" 2>/dev/null)" = "$hash" ]; then
        say "  ✓ $what (as before: nothing has changed)"
        count 1 0 0
        return
    fi
    check "$what" "$@"
    [ "$FAILED" != 0 ] || { mkdir -p "${seen%/*}" && echo "$hash" >"$seen"; }
}

# lints: runs single-threaded checks, beside the compiler, which often leaves a CPU idle.
lints() {
    PASSED=0
    FAILED=0
    lint "shellcheck" . "$TOP/e2e/scripts/static" shell
    lint "lint of the page" "ui e2e" npm --prefix "$TOP/ui" run --silent lint
    lint "types of the page" "ui e2e feeds/fastpathd/src/schema" \
        npm --prefix "$TOP/ui" run --silent check
    lint "lint of the browser tests" "ui e2e" npm --prefix "$TOP/e2e" run --silent lint
    say "$PASSED passed, $FAILED failed, 0 skipped"
    [ "$FAILED" = 0 ]
}

test_static() {
    need_build_tools
    need_packages "checking scripts" shellcheck shfmt
    need_node
    npm_ready "$TOP/ui"
    npm_ready "$TOP/e2e"
    local pid status=0
    lints >"$(log_of lints)" 2>&1 &
    pid=$!
    check "format of the crates" cargo fmt --manifest-path "$SRC/Cargo.toml" --all --check
    [ -n "${ASIDE_OF-}" ] || check "clippy on the crates" cargo_tests
    check "format of the scripts for OpenWrt" "$TOP/e2e/scripts/static" shfmt
    check "licence lines" "$TOP/e2e/scripts/static" licence
    check "length of files and lines" "$TOP/e2e/scripts/static" length
    check "API page matches the schemas" node "$TOP/e2e/scripts/api-doc.mjs" --check
    check "doctor page matches the doctor's texts" node "$TOP/e2e/scripts/doctor-doc.mjs" --check
    check "the doctor's checks have their tests" node "$TOP/e2e/scripts/tags.mjs"
    check "hash of the project's files" "$TOP/e2e/scripts/static" hash
    check "crates: source, versions, licence" node "$TOP/e2e/scripts/crates.mjs"
    [ -z "${ADVISORIES-}" ] || check "advisories" "$TOP/e2e/scripts/static" advisories
    check "waits of a fixed time are named" node "$TOP/e2e/scripts/sleeps.mjs"
    check "paths and links in the docs exist" node "$TOP/e2e/scripts/paths.mjs"
    check "the checks of paths and crates find defects" \
        node --test "$TOP/e2e/scripts/"{paths,crates}.test.mjs
    wait "$pid" || status=$?
    cat "$(log_of lints)"
    closing "$(log_of lints)" "$status"
}

test_rust() {
    need_build_tools
    need_packages "network namespace tests" iproute2 nftables
    need_bpf_tools
    need_packages "checking forwarded packets" tshark
    # Crate tests load configurations and rules into the lab's Suricata.
    need_lab_tools
    "$TOP/e2e/lab/lab" root >/dev/null
    export FASTPATH_SURICATA=$TOP/e2e/lab/suricata
    local what="tests of the crates" status=0 log passed failed
    # cargo prints the skip reasons of passing tests only with --show-output.
    step "$what" with_bpffs cargo_tests -- --show-output || status=$?
    log=$(log_of "$what")
    passed=$(sum "$log" '[0-9]+ passed')
    failed=$(sum "$log" '[0-9]+ failed')
    [ "$status" = 0 ] || [ "$failed" != 0 ] || failed=1
    # Some tests start programs that panic intentionally, so search only after a failure.
    [ "$failed" = 0 ] || grep -E '^test .* FAILED$|panicked at' "$log" >>"$FAILURES" || true
    count "$passed" "$failed" "$(sum "$log" '[0-9]+ ignored')"
    skips "$log"
}

# Fuzzes with generated inputs; test_rust reads the corpora. @runs ./build.sh fuzz all 60
test_fuzz() { lab_tests fuzz "$TOP/build.sh" fuzz all 15; }

test_init() {
    need_packages "the init scripts' tests" busybox-static make
    kind_tests init
}

test_packages() {
    need_packages "the packages' tests" busybox-static jq lua5.1 make openssl shellcheck
    need_promtool
    # The daemon parses the configurations.
    "$TOP/build.sh" programs
    # With OPENWRT_ROOT, a router installs the packages, including the page.
    [ -z "${OPENWRT_ROOT-}" ] || "$TOP/build.sh" page
    kind_tests packages
}

# OPENWRT_DIR adds tests that need a real tree.
test_profiles() {
    ! unneeded profiles docs/profiles 'feeds/*/Makefile' 'suricata-pkg/[^f]*' \
        luci-app-fastpath/Makefile e2e/tests/packages/doubles \
        feeds/fastpathd/files/fastpath.config || return 0
    need_node
    npm_ready "$TOP/profiles"
    need_packages "the profiles' tests" busybox-static git curl rsync zstd
    kind_tests profiles
}

test_cross() { kind_tests cross; }

test_kernels() { kind_tests kernels; }

test_sources() {
    local crates=feeds/fastpathd/src
    ! unneeded sources $crates/Cargo.lock "$crates/*Cargo.toml" ui/package-lock.json \
        ui/vite.config.ts 'luci-app-fastpath/[Ma]*' LICENSE || return 0
    kind_tests sources
}

# Dashboards, alert rules, the Ansible collection, and two gateways of the fleet benchmark.
# EVERYTHING=1 (tier `all`) adds the flow records' schema, which needs an engine of 900 MB.
test_fleet() {
    local python=$TOP/e2e/tests/fleet wanted crates=feeds/fastpathd/src/crates
    ! unneeded fleet docs/fleet docs/fleet.md docs/ipfix.csv e2e/bench/fleet \
        e2e/tests/packages/doubles feeds/fastpath-metrics feeds/fastpathd/files/fastpath.config \
        $crates/{config,ipfix,logs,metrics} \
        $crates/fastpathd/{examples,src/{bench,export}} \
        $crates/gateway/src/{export,metrics} || return 0
    need_node
    npm_ready "$TOP/docs/fleet/dashboards"
    need_promtool
    need_stores
    wanted=("$python/requirements.txt")
    if [ "$CHOSEN" != @core ]; then
        need_packages "reading flow records" pmacct
        need_packages "an empty machine" mmdebstrap
    fi
    [ -z "${EVERYTHING-}" ] || wanted+=("$python/requirements-flows.txt")
    need_python "$BUILD/fleet/venv" "${wanted[@]}"
    need_build_tools
    need_packages "the fleet bench" nfdump jq lua5.1
    check "gateways of the fleet bench" with_clippy cargo build --locked \
        --manifest-path "$SRC/Cargo.toml" --target-dir "$BUILD/cargo" -p fastpathd \
        --features bench --example fleet
    check "dashboards as generated" npm --prefix "$TOP/docs/fleet/dashboards" run --silent check
    lab_tests fleet "$python/run"
}

test_page() {
    need_node
    npm_ready "$TOP/ui"
    local what="unit tests of the page" status=0 log
    step "$what" npm --prefix "$TOP/ui" run --silent test || status=$?
    log=$(log_of "$what")
    sed -i 's/\x1b\[[0-9;]*m//g' "$log"
    local passed failed
    passed=$(sum <(grep -E '^ *Tests ' "$log" || true) '[0-9]+ passed')
    failed=$(sum <(grep -E '^ *Tests ' "$log" || true) '[0-9]+ failed')
    [ "$status" = 0 ] || [ "$failed" != 0 ] || failed=1
    count "$passed" "$failed" 0
    need_packages "the pictures of the page" chromium-headless-shell
    "$TOP/build.sh" page
    kind_tests snapshots "$TOP/e2e/tests/snapshots/run"
}

test_sizes() {
    "$TOP/build.sh" page
    check "size of the page" npm --prefix "$TOP/ui" run --silent size
    local release=$BUILD/cargo/release/fastpath
    if [ "$CHOSEN" != @core ]; then
        # @runs ./build.sh programs release
        "$TOP/build.sh" programs release
    elif stale "$release" "$SRC"; then
        # A release build takes as long as compiling all tests.
        return
    fi
    check "size of the program" "$TOP/e2e/scripts/static" size "$release"
}

# Tests that boot machines or measure run in the tier `all`, or if the kind is named.
test_commands() {
    [ "$CHOSEN" = @core ] || need_packages "a disk image that boots" grub-pc-bin e2fsprogs
    kind_tests commands
}

test_scale() {
    need_build_tools
    need_packages "the benchmark's conntrack entries" iproute2 nftables
    local status=0
    check "benchmark, compiled" scale_built
    SCALE_DIR=$BUILD/scale step "scale" "$BUILD/cargo/release/examples/scale" || status=$?
    case $status in
        0) count 1 0 0 ;;
        77) skips "$(log_of scale)" ;;
        *) count 0 1 0 ;;
    esac
    grep -v '^skipped' "$(log_of scale)" || true
}

failures() {
    awk '/^  ✗/ { shown = 1; n = 0 }
        /^  (✓|…|-) / || /^== / || /^[0-9]+ passed, / { shown = 0 }
        shown && n++ < 24' "$1" >>"$FAILURES"
}

closing() {
    local line passed failed skipped
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$1" | tail -n 1 || true)
    if [ -z "$line" ]; then
        count 0 1 0
        return 0
    fi
    IFS=', ' read -r passed _ failed _ skipped _ <<<"$line"
    [ "$2" = 0 ] || [ "$failed" != 0 ] || failed=1
    count "$passed" "$failed" "$skipped"
}

lab_tests() {
    local what=$1 status=0
    shift
    # Steps that fail intentionally must not reach FAILURES.
    env -u FAILURES "$@" 2>&1 | tee "$(log_of "$what")" || status=$?
    failures "$(log_of "$what")"
    closing "$(log_of "$what")" "$status"
}

# kind_tests KIND [COMMAND…]: runs a kind without tests tagged @timed, in the short tier also
# without @long.
kind_tests() {
    local kind=$1
    shift
    npm_ready "$TOP/e2e"
    [ $# != 0 ] || set -- "$TOP/e2e/tests/run" "$kind"
    if [ "$CHOSEN" = @core ]; then set -- "$@" --grep-invert '@long|@timed'
    else set -- "$@" --grep-invert @timed; fi
    lab_tests "$kind" "$@"
}

lab_made() {
    "$TOP/build.sh" programs && "$TOP/build.sh" page && need_lab_tools && "$TOP/e2e/lab/lab" images
}

# labs_ready CPUS NAME…: boots a lab build/lab/run.NAME of type LAB_MACHINE per name, or uses
# LAB_RUN.
labs_ready() {
    local cpus=$1 name pids=() pid
    shift
    [ -z "${LAB_RUN-}" ] || { export LABS=$LAB_RUN && return; }
    lab_made
    LABS=
    for name; do
        OWN_LABS+=("$BUILD/lab/run.$name")
        LABS+=:$BUILD/lab/run.$name
        LAB_CPU=${#OWN_LABS[@]} LAB_RUN=$BUILD/lab/run.$name LAB_SMP=$cpus "$TOP/e2e/lab/lab" up &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || { echo "  ✗ a lab does not start" >>"$FAILURES" && die "test: no lab"; }
    done
    export LABS=${LABS#:}
}

# Stops the labs of this run, saving the machines' logs after a failure. A developer's lab must not
# be stopped.
labs_end() {
    local lab
    for lab in "${OWN_LABS[@]}"; do
        [ "$FAILED" = 0 ] || LAB_RUN=$lab "$TOP/e2e/lab/lab" logs "${lab##*.}" || true
        LAB_RUN=$lab "$TOP/e2e/lab/lab" down >/dev/null 2>&1 || true
    done
    OWN_LABS=()
    unset LABS
}

need_disk_image() {
    "$TOP/build.sh" programs
    "$TOP/build.sh" page
    need_lab_tools
    need_packages "a disk image that boots" grub-pc-bin e2fsprogs
    npm_ready "$TOP/e2e"
}

# A separate lab does not disturb a running one.
test_image() {
    need_disk_image
    local -x LAB_RUN=$BUILD/lab/run.image
    lab_tests image "$TOP/e2e/tests/run" image
    # A VM test per requirement on the gateway.
    if [ -f "$LAB_RUN/ports" ] || "$TOP/e2e/lab/lab" --image "$BUILD/image/sample.img" up; then
        RESULTS=image-vm PART=-image lab_tests image-vm "$TOP/e2e/tests/run" vm \
            --grep "api login|viewer may|engine off and on|cable of lan2|reconnects after KILL"
    fi
    "$TOP/e2e/lab/lab" down >/dev/null 2>&1 || true
}

# VM tests on a router that is reached by ssh and two Ethernet ports; a machine emulates it.
test_router() {
    [ "$(id -u)" = 0 ] || { skipped_kind "only root has networks of its own" && return; }
    need_disk_image
    local -x LAB_RUN=$BUILD/lab/run.router
    check "image of the router" "$TOP/e2e/lab/lab" sample "$BUILD/image/router.img"
    RESULTS=router PART=-router lab_tests router "$TOP/e2e/tests/router/board" \
        "$BUILD/image/router.img" "$TOP/e2e/tests/router/on-board"
}

# The CPU plan has more choices with four CPUs.
test_cpu() {
    labs_ready 4 cpu
    PART=-four lab_tests cpu "$TOP/e2e/tests/run" vm --grep 'spec.ts cpu(-four)? '
    labs_end
}

# Core VM tests of C library features (names, time, passwords, processes), with programs linked with
# musl as in OpenWrt.
test_musl() {
    [ "$(id -u)" = 0 ] || { skipped_kind "only root makes the programs with musl" && return; }
    npm_ready "$TOP/e2e"
    # @runs ./build.sh programs musl
    "$TOP/build.sh" programs musl
    check "size of the programs with musl" "$TOP/e2e/scripts/static" size "$BUILD"/musl/*
    local -x PROGRAMS=$BUILD/musl LAB_MACHINE=${LAB_MACHINE:-uml}
    local cpus=1 without='@timed|@four|@qemu'
    user_mode || { LAB_MACHINE=qemu cpus=2 without='@timed|@four'; }
    labs_ready "$cpus" 1 2
    on_labs -musl vm --grep '(?=.*@core).*spec.ts (access|api|change|config|engine|ips-offload) ' \
        --grep-invert "$without"
}

test_vm() { test_machines vm; }
test_browser() { test_machines browser; }

# on_labs PART KINDS ARGUMENT…: runs Playwright in the labs that are ready, then stops the labs.
# PART is a suffix of the results' names.
on_labs() {
    local part=$1 kinds=$2 name=${2//,/-}$1
    shift 2
    [ "$CHOSEN" != @core ] || export STOP_AFTER=8
    PART=$part RESULTS=$name lab_tests "$name" "$TOP/e2e/tests/run" "$kinds" "$@"
    labs_end
}

# user_mode: builds the user-mode machine, and succeeds if tests can use it. Fails with
# LAB_MACHINE=qemu, with a running lab, or if a step fails, as without the kernel's sources.
user_mode() {
    [ "${LAB_MACHINE:-uml}" = uml ] && [ -z "${LAB_RUN-}" ] || return 1
    LAB_MACHINE=uml lab_made && return
    say "  ! user-mode machines cannot be made here: emulated ones instead, which take longer"
    return 1
}

# processor_share: prints the percentage of two CPUs that two busy processes currently get.
processor_share() {
    local TIMEFORMAT='%R %U' spin='BEGIN { while (i < 1e8) i++ }'
    { time { awk "$spin" & awk "$spin" & wait; }; } 2>&1 |
        awk '{ printf "%d", 100 * $2 / (2 * $1) }'
}

# on_machines KINDS GREP FILE…: runs tests in three user-mode labs and, in parallel, the tests
# tagged @qemu in an emulated lab. On a busy host it uses two user-mode labs, because tests in three
# exceed their time limits. Without user mode it uses two emulated labs.
on_machines() {
    local kinds=$1 chosen=$2 without='@timed|@four' share labs=(1 2 3)
    shift 2
    if ! user_mode; then
        # One CPU forwards, the other inspects.
        labs_ready 2 1 2
        on_labs "" "$kinds" "$@" --grep "$chosen" --grep-invert "$without"
        return
    fi
    share=$(processor_share)
    if [ "$share" -lt 60 ]; then
        say "  ! two processes get $share % of two processors: two labs instead of three"
        labs=(1 2)
    fi
    NEEDING="$kinds
(?=.*$chosen)(?=.*@qemu)
$without
$*" begin_aside emulated
    LAB_MACHINE=uml labs_ready 1 "${labs[@]}"
    on_labs "" "$kinds" "$@" --grep "$chosen" --grep-invert "$without|@qemu"
    end_aside emulated
}

# Runs the tests in NEEDING in an emulated lab. Lines: kinds, --grep, --grep-invert, files.
test_emulated() {
    local wanted files arguments
    mapfile -t wanted <<<"$NEEDING"
    read -ra files <<<"${wanted[3]-}"
    arguments=("${wanted[0]}" "${files[@]}" --grep "${wanted[1]}" --grep-invert "${wanted[2]}")
    RESULTS=none "$TOP/e2e/tests/run" "${arguments[@]}" --list >/dev/null 2>&1 || return 0
    LAB_MACHINE=qemu labs_ready 2 4
    on_labs -qemu "${arguments[@]}"
}

test_machines() {
    need_node
    need_packages "printing metrics" lua5.1
    need_promtool
    need_packages "comparing frames, reading flow records" nfdump pmacct tshark
    need_packages "the browser tests" chromium-headless-shell
    npm_ready "$TOP/e2e"
    on_machines "$1" "$CHOSEN"
}

# Tests of rates and of limits in seconds, without any parallel work.
test_timed() {
    need_packages "the browser tests" chromium-headless-shell
    npm_ready "$TOP/e2e"
    RESULTS=timed-commands lab_tests commands "$TOP/e2e/tests/run" commands --grep @timed
    labs_ready 2 1
    PART=-timed RESULTS=timed lab_tests timed "$TOP/e2e/tests/run" vm,browser --grep @timed
    labs_end
}
