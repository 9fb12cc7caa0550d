# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs unit tests in the root. Needs `inside` and CROSS.

# qemu-user lacks bpf(), RLIMIT_AS, generic netlink, and some ioctls and netlink requests.
SKIPPED_TESTS=(--skip ability::tests::reads_the_abilities_of_the_loopback_device
    --skip client::tests::families_are_found_by_name
    --skip machine::ports::tests::an_error_names_the_missing_device
    --skip machine::ports::tests::loopback_has_fixed_and_changeable_offloads
    --skip process::tests::a_program_has_the_kernels_limits)

# counted LOG: prints the number of executed tests; fails for 0.
counted() {
    awk '/ passed;/ { n += $4 } END { print "note: " n " tests"; exit n == 0 }' "$1"
}

unit_tests() {
    local log
    log=$CROSS/$1.log
    shift
    inside cargo test --locked --no-fail-fast "$@" -- --show-output "${SKIPPED_TESTS[@]}" |
        tee "$log"
    counted "$log"
}
