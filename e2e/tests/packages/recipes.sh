# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installed files with mode, owner and path; one golden file per package.

# recipe FOLDER PACKAGE: compares the installed files with the golden file, as root or in a user
# namespace (OpenWrt uses fakeroot). The builder's umask must have no effect.
recipe() {
    local dest=$WORK/dest isolate=()
    [ "$(id -u)" = 0 ] || isolate=(unshare --map-root-user)
    compiled
    rm -rf "$dest"
    install -d -m 755 "$dest"
    (umask 077 && in_folder "$1" "lab-install-$2" DESTDIR="$dest")
    # The lab's record of users is not part of the package.
    rm -rf "$dest/usr/lib/lab"
    find "$dest/usr" -maxdepth 1 -name lib -empty -delete 2>/dev/null || true
    "${isolate[@]}" find "$dest" -mindepth 1 -printf '%M %U:%G /%P %l\n' |
        LC_ALL=C sort -k 3 | sed 's/ *$//' >"$WORK/list"
    ! grep -E '^-(.{4}w|.{7}w)' "$WORK/list" || fail "writable for others"
    same "$WORK/list" "$HERE/golden/$2" "the files of $2"
}

# recipes FOLDER PACKAGE…: fails unless the Makefile builds exactly these packages with the expected
# files.
recipes() {
    local folder=$1 package
    shift
    for package; do recipe "$folder" "$package"; done
    same <(packages_of "$folder" | sort) <(printf '%s\n' "$@" | sort) "the list of packages"
}

test_fastpathd_installs_expected_files() {
    recipes feeds/fastpathd fastpathd fastpathd-ebpf fastpath-notify
}
test_fastpath_base_installs_expected_files() { recipes feeds/fastpath-base fastpath-base; }
test_fastpath_installs_expected_files() { recipes feeds/fastpath fastpath fastpath-ips; }
test_fastpath_metrics_installs_expected_files() { recipes feeds/fastpath-metrics fastpath-metrics; }
test_suricata_installs_expected_files() { recipes suricata-pkg suricata suricata-tools; }
test_luci_app_fastpath_installs_expected_files() { recipes luci-app-fastpath luci-app-fastpath; }

# Suricata only warns about a missing file and ignores its settings.
test_suricata_installs_every_file_of_its_configuration() {
    local name
    grep -o '/etc/suricata/[a-z]*\.config' "$TOP/suricata-pkg/files/suricata.yaml" >"$WORK/named"
    while read -r name; do
        grep -q "^-rw-r--r-- 0:0 $name$" "$HERE/golden/suricata" || fail "$name is not installed"
        compiled
        rm "$WORK/build/suricata/"{,etc/}"${name##*/}" 2>/dev/null || true
        ! in_folder suricata-pkg lab-install-suricata DESTDIR="$WORK/dest" 2>/dev/null ||
            fail "a package without $name is made"
    done <"$WORK/named"
}

test_no_file_is_in_two_packages() {
    local twice
    twice=$(sed -n 's/^-[^ ]* [^ ]* //p' "$HERE"/golden/* | sort | uniq -d)
    [ -z "$twice" ] || fail "in two packages: $twice"
}

# The eBPF loader's link and the program are in different packages.
test_links_lead_to_installed_files() {
    local link target file
    grep -h '^l' "$HERE"/golden/* >"$WORK/links"
    while read -r _ _ link target; do
        file=$(realpath -m "${link%/*}/$target")
        grep -qh "^-rwxr-xr-x 0:0 $file$" "$HERE"/golden/* || fail "$link leads to no $file"
    done <"$WORK/links"
}
