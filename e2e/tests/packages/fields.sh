# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Package fields in the Makefiles: complete and consistent.

each() {
    local folder package
    for folder in $FOLDERS; do
        fields "$folder" >"$WORK/fields"
        for package in $(packages_of "$folder"); do "$1" "$folder" "$package"; done
    done
}

value() { field "$WORK/fields" "$1" "$2"; }

matches() {
    value "$1" "$2" | grep -qxE "$3" ||
        fail "$1: $2 is '$(value "$1" "$2")', which does not match $3"
}

complete() {
    matches "$2" PKG_VERSION '[0-9]+\.[0-9]+\.[0-9]+'
    matches "$2" PKG_RELEASE '[1-9][0-9]*'
    matches "$2" PKG_MAINTAINER '[^<>]+ <[^ @]+@[^ @]+>'
    matches "$2" PKG_LICENSE 'GPL-2\.0-(only|or-later)'
    matches "$2" TITLE '.{8,60}'
    matches "$2" USERID '|([a-z-]+):\1( (\1-[a-z]+):\3)*'
    matches "$2" DEPENDS '.+'
}
test_required_fields_are_present() { each complete; }

archive() {
    [ -n "$(value "$2" PKG_SOURCE)" ] || return 0
    matches "$2" PKG_SOURCE "$(value "$2" PKG_NAME)-$(value "$2" PKG_VERSION)\.tar\.[gx]z"
    matches "$2" PKG_SOURCE_URL 'https://.*/|file:///.*'
    matches "$2" PKG_HASH '[0-9a-f]{64}'
    matches "$2" PKG_LICENSE_FILES '[A-Za-z. ]+'
}
test_archives_have_a_hash() { each archive; }

cpe() {
    case $1 in
        suricata-pkg) matches "$2" PKG_CPE_ID 'cpe:/a:oisf:suricata' ;;
        # Our packages have no CPE; an invented one could match another product's CVEs.
        *) [ -z "$(value "$2" PKG_CPE_ID)" ] || fail "$2 has a PKG_CPE_ID" ;;
    esac
}
test_only_suricata_has_a_cpe() { each cpe; }

one_version() {
    local version
    [ "$1" != suricata-pkg ] || return 0
    version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' \
        "$TOP/feeds/fastpathd/src/Cargo.toml")
    [ "$(value "$2" PKG_VERSION)" = "$version" ] || fail "$2 is not of the workspace's $version"
    [ "$version" = "$(jq -r .version "$TOP/ui/package.json")" ] || fail "the page is not $version"
}
test_versions_equal_the_workspace_s() { each one_version; }

test_licences_equal_the_workspace_s() {
    local licence
    licence=$(sed -n '/^\[workspace.package\]/,/^\[/s/^license = "\(.*\)"/\1/p' \
        "$TOP/feeds/fastpathd/src/Cargo.toml")
    [ "$licence" = "$(jq -r .license "$TOP/ui/package.json")" ] || fail "the page's is another"
    for folder in feeds/fastpathd feeds/fastpath-base feeds/fastpath feeds/fastpath-metrics \
        luci-app-fastpath; do
        grep -qx "PKG_LICENSE:=$licence" "$TOP/$folder/Makefile" || fail "$folder is not $licence"
    done
    cmp "$TOP/LICENSE" "$TOP/feeds/fastpathd/src/LICENSE" || fail "the licence's texts differ"
}

# The package manager uses the value verbatim, so a leading blank becomes part of the name.
conffile() {
    local file
    for file in $(value "$2" conffiles); do
        case $file in /etc/*) ;; *) fail "$2: conffile $file" ;; esac
        grep -qxF "$file" "$TOP/$1/Makefile" || fail "$2: conffile $file is indented"
        if [ "${file%/}" = "$file" ]; then
            grep -qE " $file\$" "$HERE/golden/$2" || fail "$2: conffile $file is not installed"
        fi
    done
}
test_configuration_files_are_conffiles() {
    each conffile
    grep -qE ' /etc/config/' "$HERE"/golden/* || fail "no configuration found"
    local file
    # shellcheck disable=SC2013 # names have no blanks
    for file in $(sed -n 's/^-.* \(\/etc\/config\/.*\)/\1/p' "$HERE"/golden/*); do
        grep -qxF "$file" "$TOP"/feeds/*/Makefile "$TOP/suricata-pkg/Makefile" \
            "$TOP/luci-app-fastpath/Makefile" || fail "$file is not a conffile"
    done
}

# OpenWrt's scan of feeds does not expand variables here.
test_package_names_are_literal() {
    local folder
    for folder in $FOLDERS; do
        ! grep -nE '^(define|\$\(eval).*\$\(PKG_NAME\)' "$TOP/$folder/Makefile" || fail "$folder"
        grep -qE 'call BuildPackage' "$TOP/$folder/Makefile" || fail "$folder: not seen by the scan"
    done
}

test_files_named_by_init_scripts_are_installed() {
    local script file
    for script in "$TOP"/feeds/*/files/*.init "$TOP"/suricata-pkg/files/*.init; do
        # shellcheck disable=SC2013 # names have no blanks
        for file in $(sed -n 's/^\(PROG\|CAPABILITIES\|LOADER\)=\(.*\)/\2/p' "$script"); do
            grep -qhE " $file( |\$)" "$HERE"/golden/* || fail "$script: no package installs $file"
        done
    done
}

# The third number is the maximum of restarts; 0 means unlimited.
test_procd_restarts_services_without_limit() {
    local script
    for script in "$TOP"/feeds/*/files/*.init "$TOP"/suricata-pkg/files/*.init; do
        grep -q procd_open_instance "$script" || continue
        grep -qE '^\sprocd_set_param respawn [0-9]+ [0-9]+ 0$' "$script" ||
            fail "$script: procd gives up: $(grep respawn "$script")"
    done
}

# Scripts must be valid for BusyBox's shell; a failure aborts the package manager.
scripts_of() {
    local script
    for script in postinst prerm postrm preinst; do
        in_folder "$1" lab-script PACKAGE="$2" SCRIPT="$script" >"$WORK/script"
        [ -n "$(tr -d '\n' <"$WORK/script")" ] || continue
        head -n 1 "$WORK/script" | grep -qx '#!/bin/sh' || fail "$2: $script has no first line"
        busybox ash -n "$WORK/script" || fail "$2: $script"
        shellcheck -s dash "$WORK/script" || fail "$2: $script"
        grep -q IPKG_INSTROOT "$WORK/script" || fail "$2: $script runs when an image is made"
    done
}
test_scripts_of_packages_are_valid() { each scripts_of; }
