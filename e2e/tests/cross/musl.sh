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
    # A process for each test, as is usual where a panic aborts, is none that qemu-user can start.
    # The words of a test that aborts it would be lost if they were captured.
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

# programs FOLDER: for the lab.
programs() {
    with_musl x86_64 build --release -p fastpathd -p fastpathctl -p rules -p fastpath-rpcd -p ebpf
    mkdir -p "$1"
    local name
    for name in fastpathd fastpathctl fastpath-rules fastpath-rpcd fastpath-bpf; do
        cp "$CROSS/target/x86_64-unknown-linux-musl/release/$name" "$1/"
    done
}
