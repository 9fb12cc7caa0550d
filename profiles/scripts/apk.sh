# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Finds an apk-tools 3 that can make packages and indexes. Needs BUILD.

# need_apk COMMAND: sets APK to the given program, or to one in PATH, an SDK or an ImageBuilder.
need_apk() {
    local each
    for each in "${APK:-apk}" "$BUILD"/openwrt/{sdk,imagebuilder}/*/staging_dir/host/bin/apk; do
        if makes_indexes "$each"; then
            APK=$each
            return
        fi
        [ -z "$APK" ] || break
    done
    die "$1: ${APK:-no program in PATH or of an SDK} is an apk-tools 3 that makes indexes
./build.sh packages TARGET unpacks an SDK, which has one; --apk PROGRAM names another"
}

# makes_indexes PROGRAM: succeeds if the program makes indexes, which a router's apk cannot.
makes_indexes() {
    local said
    [[ $("$1" --version 2>/dev/null) == "apk-tools 3"* ]] || return
    said=$("$1" mkndx 2>&1) || true
    [[ $said != *"is not an apk command"* ]]
}
