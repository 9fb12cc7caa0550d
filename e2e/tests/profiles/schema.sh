# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles: schema, documentation pages, generated configuration, first boot.

test_profiles_are_valid() {
    profile check
    [ "$(profile list | wc -l)" -ge 13 ] || fail "fewer than 13 profiles"
}

# broken MESSAGE SED [FILE]: creates an invalid profile with SED and expects MESSAGE.
broken() {
    local folder name=${3:-glinet-gl-mt6000}
    folder=$NOW/$((++BROKEN))
    mkdir "$folder"
    sed "$2" "$TOP/profiles/$name.yml" >"$folder/$name.yml"
    ! cmp -s "$folder/$name.yml" "$TOP/profiles/$name.yml" || fail "$2 changes nothing"
    printf '%s: %s\n' "$folder/$name.yml" "$1" >>"$NOW/expected"
}

refused() {
    local said line
    ! said=$(profile check "$NOW"/*/*.yml 2>&1) || fail "all pass"
    while read -r line; do has "$said" "$line"; done <"$NOW/expected"
}

# shellcheck disable=SC2016 # the last line passes it to sed
test_broken_profiles_are_refused() {
    local BROKEN=0
    broken "profile: must have required property 'device'" '/^device:/d'
    broken "profile: devise is not a known key" 's/^device:/devise:/'
    broken "arch: must be one of x86_64, aarch64, mips64" 's/^arch:.*/arch: arm64/'
    broken "target: must be string" 's/^target:.*/target: [mediatek]/'
    broken "device: must match pattern" 's/^device:.*/device: "GL MT6000; rm"/'
    broken "ports.lan: must be array" 's/^  lan:.*/  lan: lan1/'
    broken "ports: eth1 is in lan and in wan" 's/^  lan:.*/  lan: [lan1, eth1]/'
    broken "ports.lan.0: must match pattern" 's/^  lan:.*/  lan: [a-name-that-is-too-long]/'
    broken "images.0.limit_mib: must be >= 1" '0,/limit_mib: .*/s//limit_mib: 0/'
    broken "images.0: must have required property 'reason'" '0,/    reason: .*/s///'
    broken "not_tested: must NOT have fewer than 1 items" '/^not_tested:/,$c not_tested: []'
    broken "name: is gl-mt6000, the file is called glinet-gl-mt6000" 's/^name:.*/name: gl-mt6000/'
    broken "without: frobnicator is not among" '$a without: [frobnicator]'
    broken "config: CONFIG_KERNEL_KPROBES is not a valid name here" \
        '$a config: {CONFIG_KERNEL_KPROBES: y}'
    broken "config.KERNEL_KPROBES: must be one of y, n" '$a config: {KERNEL_KPROBES: true}'
    broken "defaults: engine is not a valid name here" '$a defaults: {engine: ebpf}'
    broken "Map keys must be unique" '$a device: glinet_gl-mt6000'
    broken "packages.0: must match pattern" '0,/^  - fastpath$/s//  - "fast path"/' common
    broken "tiers.0: must have required property 'cores'" '0,/    cores:.*/s///' common
    refused
    # An invalid profile must not be used in part.
    mkdir "$NOW/profiles"
    cp "$TOP"/profiles/*.yml "$TOP/profiles/schema.json" "$NOW/profiles"
    sed -i '/^device:/d' "$NOW/profiles/x86-64.yml"
    ! PROFILES=$NOW/profiles profile config x86-64 >"$NOW/out" 2>/dev/null || fail "it is used"
    [ ! -s "$NOW/out" ] || fail "half a configuration: $(cat "$NOW/out")"
}

test_every_profile_has_a_documentation_page() {
    local name key value page heading
    for name in $(profile list | cut -f 1); do
        page=$TOP/docs/profiles/$name.md
        [ -f "$page" ] || fail "docs/profiles/$name.md is missing"
        for heading in Flash Recover Ports Defaults "Tested and not"; do
            grep -qx "## $heading" "$page" || fail "$name.md has no heading '$heading'"
        done
        grep -q "($name.md)" "$TOP/docs/profiles/README.md" || fail "README.md does not name $name"
    done
    while IFS=$'\t' read -r name key value; do
        [ "$key" = not_tested ] || value="\`$value\`"
        tr -s '\n' ' ' <"$TOP/docs/profiles/$name.md" | grep -qF -- "${value%.}" ||
            fail "$name.md does not say: $value ($key)"
    done < <(profile facts ports.lan ports.wan not_tested)
    for page in "$TOP"/docs/profiles/*.md; do
        name=$(basename "$page" .md)
        [ "$name" = README ] || [ -f "$TOP/profiles/$name.yml" ] || fail "$name.md has no profile"
    done
}

# The hash in `kernel=…~HASH` of package dependencies covers CONFIG_KERNEL_* and the selected
# modules (Kernel/Configure/Default in OpenWrt's kernel-defaults.mk). To install modules from
# downloads.openwrt.org, both must equal the release's: all modules, and CONFIG_KERNEL_* at
# defaults. These symbols do not affect the kernel.
KERNEL_NEUTRAL='BPF_TOOLCHAIN_HOST BUILD_LOG DEVEL GRUB_EFI_IMAGES GRUB_IMAGES JSON_CYCLONEDX_SBOM
    PKG_ASLR_PIE_ALL PKG_CC_STACKPROTECTOR_STRONG PKG_FORTIFY_SOURCE_2 PKG_RELRO_FULL
    SIGNATURE_CHECK SIGNED_PACKAGES SURICATA_HYPERSCAN VMDK_IMAGES'

# kernel_symbols NAME: prints symbols of a profile that may change the kernel.
kernel_symbols() {
    local line symbol made
    made=$(profile config "$1") || fail "no configuration of $1"
    while read -r line; do
        symbol=${line#\# }
        symbol=${symbol#CONFIG_}
        symbol=${symbol%%[= ]*}
        case $line in "# Profile "*) continue ;; esac
        case $symbol in PACKAGE_* | TARGET_*) continue ;; esac
        case $line in
            # Defaults of v25.12.5; the release also selects KERNEL_SECCOMP by SECCOMP.
            CONFIG_USE_SECCOMP=y | CONFIG_ALL_KMODS=y) continue ;;
        esac
        [[ " ${KERNEL_NEUTRAL//[[:space:]]/ } " == *" $symbol "* ]] || echo "$line"
    done <<<"$made"
}

test_every_profile_keeps_the_kernel_of_the_release() {
    local name names symbols
    names=$(profile list | cut -f 1)
    [ "$(wc -l <<<"$names")" -ge 13 ] || fail "fewer than 13 profiles"
    for name in $names; do
        symbols=$(kernel_symbols "$name")
        [ -z "$symbols" ] || fail "$name: the release's modules would not install: $symbols"
        profile config "$name" | grep -qx CONFIG_ALL_KMODS=y ||
            fail "$name: without all modules the kernel has another hash"
    done
}

test_options_that_change_the_kernel_are_detected() {
    local option
    mkdir "$NOW/profiles"
    cp "$TOP"/profiles/*.yml "$TOP/profiles/schema.json" "$NOW/profiles"
    for option in 'KERNEL_DEBUG_INFO_BTF: y' 'KERNEL_KALLSYMS: n' 'SELINUX: y' 'USE_SECCOMP: n'; do
        sed "s/^config:/&\n  $option/; /^  USE_SECCOMP: y/d" "$TOP/profiles/common.yml" \
            >"$NOW/profiles/common.yml"
        has "$(PROFILES=$NOW/profiles kernel_symbols x86-64)" "${option%:*}"
    done
}

test_configurations_equal_the_golden_files() {
    local name
    for name in x86-64 ubnt-edgerouter-4; do
        profile config "$name" >"$NOW/$name.config"
        same "$NOW/$name.config" "$name.config"
    done
}

# lost SED TEXT…: edits the recorded defconfig and expects TEXT in the message.
lost() {
    local said
    sed "$1" "$GOLDEN/x86-64.defconfig" >"$NOW/.config"
    ! said=$(profile survived x86-64 "$NOW/.config" 2>&1) || fail "unseen: $1"
    shift
    has "$said" "$@"
    [ "$(printf '%s\n' "$said" | wc -l)" = 2 ] || fail "more than one line: $said"
}

# x86-64.defconfig is the real tree's result, reduced to relevant lines.
test_symbols_lost_by_defconfig_are_reported() {
    profile survived x86-64 "$GOLDEN/x86-64.defconfig"
    lost '/CONFIG_SURICATA_HYPERSCAN=/d' SURICATA_HYPERSCAN "wanted y, the symbol does not exist"
    lost 's/^\(CONFIG_PACKAGE_suricata\)=y/\1=m/' PACKAGE_suricata "wanted y, is m: built, but not"
    lost 's/^CONFIG_PKG_ASLR_PIE_ALL=y/# CONFIG_PKG_ASLR_PIE_ALL is not set/' \
        PKG_ASLR_PIE_ALL "is not set: something it depends on"
    lost 's/^# CONFIG_VMDK_IMAGES is.*/CONFIG_VMDK_IMAGES=y/' \
        "wanted n, is y: something selects it"
    lost 's/^CONFIG_TARGET_ROOTFS_PARTSIZE=.*/CONFIG_TARGET_ROOTFS_PARTSIZE=104/' \
        "wanted 512, is 104"
}

# boot MIB CORES: runs the first boot's script in a BusyBox root with this memory and these cores.
boot() {
    local memory=$1 cores=$2
    printf 'MemTotal:       %s kB\n' $((memory * 1024)) >"$ROOT/proc/meminfo"
    seq "$cores" | sed 's/.*/processor : &/' >"$ROOT/proc/cpuinfo"
    unshare --map-root-user chroot "$ROOT" /bin/env -i PATH=/sbin:/bin /bin/sh -c \
        '. /etc/uci-defaults/95-fastpath-profile' || fail "the script ends with $?"
}

make_root() {
    local applet
    command -v busybox >/dev/null || skip "busybox is not installed"
    ROOT=$NOW/root
    rm -rf "$ROOT"
    mkdir -p "$ROOT"/{bin,sbin,proc,tmp,dev,lib,etc/config}
    cp "$(command -v busybox)" "$ROOT/bin/busybox"
    for applet in sh env awk grep cat; do ln -s busybox "$ROOT/bin/$applet"; done
    : >"$ROOT/dev/null"
    cp "$TOP/e2e/tests/packages/doubles/uci" "$ROOT/sbin/uci"
    cp "$TOP/e2e/tests/packages/doubles/uci.awk" "$ROOT/lib/uci-double.awk"
    cp "$TOP/feeds/fastpathd/files/fastpath.config" "$ROOT/etc/config/fastpath"
    [ -d "$NOW/overlay" ] || profile overlay glinet-gl-mt6000 "$NOW/overlay"
    cp -r "$NOW/overlay/." "$ROOT"
}

option() { sed -n "s/^\toption $1 '\(.*\)'\$/\1/p" "$ROOT/etc/config/fastpath"; }

test_first_boot_sets_defaults_once() {
    local row memory cores tables
    for row in 480:1:32 960:4:64 990:1:32 1950:4:128 3900:4:256 3900:2:128 15800:4:256 \
        15800:8:512; do
        IFS=: read -r memory cores tables <<<"$row"
        make_root
        boot "$memory" "$cores"
        [ "$(option memory)" = "$tables" ] || fail "$memory MiB, $cores cores: $(option memory)"
    done
    [ "$(option engine)" = flowtable ] || fail "engine $(option engine)"
    grep -qx 'kernel.kptr_restrict=1' "$ROOT/etc/sysctl.d/30-fastpath-profile.conf"
    # Upgrades keep the marker file, because it is listed in lib/upgrade/keep.d.
    grep -qx /etc/fastpath-profile "$ROOT/lib/upgrade/keep.d/fastpath-profile"
    sed -i "s/option memory '512'/option memory '99'/" "$ROOT/etc/config/fastpath"
    boot 15800 8
    [ "$(option memory)" = 99 ] || fail "an upgrade undid the owner's setting: $(option memory)"
    # Without the marker, the defaults are set again.
    rm "$ROOT/etc/fastpath-profile"
    boot 15800 8
    [ "$(option memory)" = 512 ] || fail "nothing was set the second time"
}
