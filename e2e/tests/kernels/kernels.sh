# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One test per kernel. OpenWrt 24.10 has 6.6, which Debian lacks; OpenWrt 25.12 has 6.12.

# Loading programs is slow in emulation, so this selection covers every header and translation, all
# hooks, the daemon's side of the maps, and the verifier.
TESTS="verifier:: table:: clsact_forwards generic_xdp native_xdp_forwards tcx_forwards_packets_to"
TESTS+=" merged_packets_of_a_switch gso:: without_a_heartbeat every_hook virtual_devices"
TESTS+=" the_next_engine_adopts"

kernel_of() {
    local suite=$1 log=$OUT/$1.log passed failed
    [ -f "$OUT/$suite/release" ] || step "kernel of $suite" fetch_kernel "$suite"
    initial "$suite"
    echo "${KERNEL_TESTS:-$2}" >"$OUT/$suite/wanted"
    machine "$suite" >"$log" || true
    passed=$(grep -c '^test .* ok$' "$log" || true)
    failed=$(grep -c '^test .* FAILED$' "$log" || true)
    echo "note: $(cat "$OUT/$suite/release"): $passed tests"
    awk '$1 == "none" && $2 ~ /_(tc|xdp)$/ { print "note: " $2 ": " $3 " instructions" }' "$log"
    sed -n 's/^skipped: /note: left out: /p' "$log" | sort -u
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ] && grep -qx 'KERNEL TESTS END' "$log" && return
    grep -E '^test .* FAILED$|panicked' "$log" | head -n 20
    tail -n 25 "$log"
    return 1
}

# The oldest supported kernel has the strictest verifier.
test_programs_load_on_6_1_of_bookworm() { kernel_of bookworm "$TESTS"; }
# Kernel of the lab's machines.
test_programs_load_on_6_12_of_trixie() { kernel_of trixie verifier::; }
test_programs_load_on_the_newest_of_trixie_backports() { kernel_of trixie-backports "$TESTS"; }
