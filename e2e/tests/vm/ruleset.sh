# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Loads every rule set that the daemon can render with nft on a real kernel.

GOLDEN=$TOP/feeds/fastpathd/src/crates/ruleset/tests/golden

# Golden scripts are loaded in a network namespace with dummy devices. These cannot offload, so the
# kernel may refuse that flag, and nothing else.
test_nft_loads_every_golden_rule_set() {
    local file name answer devices number=0
    [ -d "$GOLDEN" ] || skip "no golden files in ${GOLDEN#"$TOP"/}"
    # By default the module also creates a device.
    gw 'modprobe dummy numdummies=0'
    for file in "$GOLDEN"/*.txt; do
        name=${file##*/}
        number=$((number + 1))
        devices=$(sed -n '/^-- rules --/,$p' "$file" | sed -n 's/.*devices = {\(.*\)}.*/\1/p' |
            tr -d '",' | xargs -n 1 | sort -u)
        sed '1,/^-- rules --/d' "$file" | gw "cat >/tmp/golden.nft
            ip netns delete e2e 2>/dev/null; ip netns add e2e
            for name in $(xargs <<<"$devices"); do echo link add \"\$name\" type dummy; done |
                ip -n e2e -b -"
        answer=$(gw 'ip netns exec e2e nft -c -f /tmp/golden.nft' 2>&1 || true)
        gw 'ip netns delete e2e'
        if grep -q 'flags offload' "$file"; then
            has "$name" "$answer" "Operation not supported"
        else
            same "nft's output for $name" "$answer" ""
        fi
    done
    note "$number scripts"
}
