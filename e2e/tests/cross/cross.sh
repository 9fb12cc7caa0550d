# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests of the daemon on aarch64, and of the netlink and ubus parsers on big-endian s390x.

test_unit_tests_pass_on_aarch64() {
    unit_tests aarch64 --target aarch64-unknown-linux-gnu --workspace --lib --bins
}

test_fastpathd_reads_its_configuration_on_aarch64() {
    local target=aarch64-unknown-linux-gnu
    inside cargo build --locked --target $target -p fastpath
    inside qemu-aarch64 -L /usr/aarch64-linux-gnu -0 fastpathd /target/$target/debug/fastpath \
        --check "$TOP/feeds/fastpathd/files/fastpath.config"
}

# Skips tests that need netlink or bpf(): `it` of topology and ebpf, and the modules change and
# kernel of ctnetlink.
test_codecs_pass_their_tests_on_s390x() {
    local target=s390x-unknown-linux-gnu
    if [ -e "$ROOT/without-s390x" ]; then
        echo "skipped: Debian has no Rust for s390x of the version for x86-64"
        exit 77
    fi
    unit_tests s390x --target $target -p ubus -p ctnetlink -p topology -p ebpf --lib
    SKIPPED_TESTS+=(--skip change:: --skip kernel::)
    unit_tests s390x-it --target $target -p ubus -p ctnetlink --test it
}
