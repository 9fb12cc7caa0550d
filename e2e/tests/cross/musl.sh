# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The programs as on OpenWrt: linked with musl, abort on panic, Rust's standard library compiled for
# musl.

with_musl() {
    local target=$1-unknown-linux-musl command=$2
    shift 2
    # Unstable build-std works in Debian's cargo. An empty list of features selects the defaults,
    # which unwind, so pass a feature without effect.
    inside env RUSTC_BOOTSTRAP=1 CARGO_PROFILE_DEV_PANIC=abort \
        cargo "$command" -Zbuild-std=std,panic_abort,test -Zbuild-std-features=windows_raw_dylib \
        -Zpanic-abort-tests --locked --target "$target" "$@"
}

musl_tests() {
    # Abort-on-panic tests start a process each by default, which fails in qemu-user. Print output
    # immediately, because an aborting test would lose captured output.
    with_musl "$1" test --no-fail-fast --workspace --lib --bins -- \
        -Zunstable-options --force-run-in-process --nocapture "${SKIPPED_TESTS[@]}" |
        tee "$CROSS/musl-$1.log"
    counted "$CROSS/musl-$1.log"
}

test_unit_tests_pass_with_musl() {
    SKIPPED_TESTS=()
    musl_tests x86_64
}

test_unit_tests_pass_with_musl_on_aarch64() {
    musl_tests aarch64
}

programs() {
    local to=$1 processor=${2:-x86_64}
    with_musl "$processor" build --release -p fastpath
    mkdir -p "$to"
    cp "$CROSS/target/$processor-unknown-linux-musl/release/fastpath" "$to/"
}

# Same size limit as for the program linked with glibc.
test_the_program_with_musl_for_aarch64_is_small_enough() {
    local to=$CROSS/programs.aarch64
    programs "$to" aarch64
    "$TOP/e2e/scripts/static" size "$to/fastpath" | tee "$to.size"
    sed -n 's/^together/note: &/p' "$to.size"
    local started
    started=$(inside qemu-aarch64 -0 fastpathd \
        /target/aarch64-unknown-linux-musl/release/fastpath --version)
    [[ $started == "fastpathd "* ]] || { echo "fastpathd says '$started'" && return 1; }
}
