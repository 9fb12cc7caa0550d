# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the install recipes put where: mode, owner, path; one golden file a package.

# recipe FOLDER PACKAGE: as root, or under fakeroot as in OpenWrt where we are not. The builder's
# umask must not reach the package.
recipe() {
    local dest=$WORK/dest isolate=()
    [ "$(id -u)" = 0 ] || isolate=(unshare --map-root-user)
    compiled
    rm -rf "$dest"
    install -d -m 755 "$dest"
    (umask 077 && in_folder "$1" "lab-install-$2" DESTDIR="$dest")
    # Where the shim notes users, not part of the package.
    rm -rf "$dest/usr/lib/lab"
    find "$dest/usr" -maxdepth 1 -name lib -empty -delete 2>/dev/null || true
    "${isolate[@]}" find "$dest" -mindepth 1 -printf '%M %U:%G /%P %l\n' |
        LC_ALL=C sort -k 3 | sed 's/ *$//' >"$WORK/list"
    ! grep -E '^-(.{4}w|.{7}w)' "$WORK/list" || fail "writable for others"
    same "$WORK/list" "$HERE/golden/$2" "what $2 installs"
}

# recipes FOLDER PACKAGE…: which have to be all that the Makefile makes.
recipes() {
    local folder=$1 package
    shift
    for package; do recipe "$folder" "$package"; done
    same <(packages_of "$folder" | sort) <(printf '%s\n' "$@" | sort) "the list of packages"
}

test_fastpathd() { recipes feeds/fastpathd fastpathd fastpathd-ebpf; }
test_fastpath_base() { recipes feeds/fastpath-base fastpath-base; }
test_fastpath() { recipes feeds/fastpath fastpath fastpath-ips; }
test_suricata() { recipes suricata-pkg suricata suricata-tools; }
test_luci_app_fastpath() { recipes luci-app-fastpath luci-app-fastpath; }

test_no_file_is_in_two_packages() {
    local twice
    twice=$(sed -n 's/^-[^ ]* [^ ]* //p' "$HERE"/golden/* | sort | uniq -d)
    [ -z "$twice" ] || fail "in two packages: $twice"
}
