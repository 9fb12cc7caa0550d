# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon for aarch64, and the parsers of the kernel's and ubusd's messages on s390x, which has
# the other byte order.

test_unit_tests_on_aarch64() {
    unit_tests aarch64 --target aarch64-unknown-linux-gnu --workspace --lib --bins
}

test_fastpathd_reads_its_configuration_on_aarch64() {
    local target=aarch64-unknown-linux-gnu
    inside cargo build --locked --target $target -p fastpath
    inside qemu-aarch64 -L /usr/aarch64-linux-gnu -0 fastpathd /target/$target/debug/fastpath \
        --check "$TOP/feeds/fastpathd/files/fastpath.config"
}

# The tests `it` of topology and ebpf, and ctnetlink's modules change and kernel, ask netlink and
# bpf().
test_codecs_on_s390x() {
    local target=s390x-unknown-linux-gnu
    if [ -e "$ROOT/without-s390x" ]; then
        echo "skipped: Debian has no Rust for s390x of the version for x86-64"
        exit 77
    fi
    unit_tests s390x --target $target -p ubus -p ctnetlink -p topology -p ebpf --lib
    LEFT_OUT+=(--skip change:: --skip kernel::)
    unit_tests s390x-it --target $target -p ubus -p ctnetlink --test it
}
