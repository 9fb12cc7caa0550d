# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The programs as OpenWrt has them: linked with musl, and a panic aborts. Rust's standard library is
# compiled for it.

# with_musl PROCESSOR COMMAND ARGS…: cargo's, for musl.
with_musl() {
    local target=$1-unknown-linux-musl command=$2
    shift 2
    # An unstable part of cargo, which Debian's has as well. Its default features unwind; an empty
    # list is taken for the default, and this one means nothing here.
    inside env RUSTC_BOOTSTRAP=1 CARGO_PROFILE_DEV_PANIC=abort \
        cargo "$command" -Zbuild-std=std,panic_abort,test -Zbuild-std-features=windows_raw_dylib \
        -Zpanic-abort-tests --locked --target "$target" "$@"
}

# musl_tests PROCESSOR
musl_tests() {
    # A process for each test, as is usual where a panic aborts, cannot be started by qemu-user.
    # The output of a test that aborts it would be lost if it were captured.
    with_musl "$1" test --no-fail-fast --workspace --lib --bins -- \
        -Zunstable-options --force-run-in-process --nocapture "${LEFT_OUT[@]}" |
        tee "$CROSS/musl-$1.log"
    counted "$CROSS/musl-$1.log"
}

test_unit_tests_with_musl() {
    LEFT_OUT=()
    musl_tests x86_64
}

test_unit_tests_with_musl_on_aarch64() {
    musl_tests aarch64
}

# programs FOLDER [PROCESSOR]: the one that the packages install; of x86-64 for the lab.
programs() {
    local to=$1 processor=${2:-x86_64}
    with_musl "$processor" build --release -p fastpath
    mkdir -p "$to"
    cp "$CROSS/target/$processor-unknown-linux-musl/release/fastpath" "$to/"
}

# With the limit that the program of this machine's C library has.
test_size_of_the_program_with_musl_for_aarch64() {
    local to=$CROSS/programs.aarch64
    programs "$to" aarch64
    "$TOP/e2e/scripts/static" size "$to/fastpath" | tee "$to.size"
    sed -n 's/^together/note: &/p' "$to.size"
    # It starts.
    local started
    started=$(inside qemu-aarch64 -0 fastpathd \
        /target/aarch64-unknown-linux-musl/release/fastpath --version)
    [[ $started == "fastpathd "* ]] || { echo "fastpathd says '$started'" && return 1; }
}
