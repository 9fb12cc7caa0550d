# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# All rule sets that the daemon can render, before the nft of a real kernel.

GOLDEN=$TOP/feeds/fastpathd/src/crates/ruleset/tests/golden

# Every golden script in a network namespace with its devices, as nft loads it. Dummy devices
# cannot offload: that flag is the kernel's to refuse, and must be all it refuses.
test_golden_rules_are_what_nft_takes() {
    local file name answer devices number=0
    [ -d "$GOLDEN" ] || skip "no golden files in ${GOLDEN#"$TOP"/}"
    # Left to itself the module makes a device in the gateway's own namespace, too.
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
