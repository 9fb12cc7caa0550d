# shellcheck shell=bash disable=SC2016
# SPDX-License-Identifier: GPL-2.0-or-later
# A feed of our packages, and a router that installs, upgrades and removes them. APK is the path of
# apk-tools 3 with mkpkg, which Debian lacks; OPENWRT_ROOT is a folder with OpenWrt's userland.
# shellcheck source=e2e/tests/packages/router.sh
. "$HERE/router.sh"
PACKAGES="fastpath fastpath-base fastpath-ips fastpath-metrics fastpath-notify fastpathd
    fastpathd-ebpf luci-app-fastpath suricata suricata-tools"
SERVER=http://127.0.0.1:8000

# @runs ./build.sh feed DIR
feed() { XDG_CONFIG_HOME=$KEYS BUILD=$WORK/empty "$TOP/build.sh" feed "$@"; }

# refuses PART… -- ARGUMENT…: fails unless `feed` fails with a message that contains each PART.
refuses() {
    local said part parts=()
    while [ "$1" != -- ]; do parts+=("$1") && shift; done
    shift
    ! said=$(feed "$@" 2>&1) || fail "taken: $*"
    for part in "${parts[@]}"; do [[ $said == *"$part"* ]] || fail "no '$part' in: $said"; done
}

need_mkpkg() {
    [ -n "${APK-}" ] || skip "APK names no apk-tools 3, and Debian has none"
}

need_root() {
    need_mkpkg
    [ -e "${OPENWRT_ROOT-}/lib/functions.sh" ] ||
        skip "OPENWRT_ROOT names no folder with OpenWrt's userland"
    [ "$(id -u)" = 0 ] || skip "a router in namespaces needs root"
    chroot "$OPENWRT_ROOT" apk info -e nftables-json >/dev/null 2>&1 ||
        skip "the apk database of OPENWRT_ROOT lacks the dependencies of our packages"
}

pack() {
    local folder from=${2-$TOP}
    rm -rf "$WORK/packages"
    for folder in $FOLDERS; do
        LAB_CONFIG=HAS_BPF_TOOLCHAIN "$SHIM/pack" "$APK" "$(uname -m)" "$from/$folder" \
            "$WORK/packages/$(uname -m)" PKG_RELEASE="$1" BUILD_DIR="$WORK/build" \
            PKG_INSTALL_DIR="$WORK/built" FASTPATH_PAGE="$WORK/page"
    done
}

published() {
    feed "$WORK/served" --from "$WORK/packages" >"$WORK/said" || fail "$(cat "$WORK/said")"
}

# Private keys must be outside the repository.
fresh() {
    KEYS=$(mktemp -d)
    trap ended EXIT
    rm -rf "$WORK/served" "$WORK/empty"
    mkdir -p "$WORK/served" "$WORK/empty"
    compiled
}

ended() {
    rm -rf "$KEYS"
    [ -z "${ROUTER-}" ] || kill "$ROUTER"
}

test_a_feed_without_packages_or_apk_prints_a_hint() {
    fresh
    refuses "which folder" -- --key "$WORK/key"
    refuses "there are no packages in" "./build.sh packages TARGET" -- "$WORK/served"
    mkdir -p "$WORK/packages/x86_64"
    touch "$WORK/packages/x86_64/fastpath-1.apk"
    APK='' refuses "is an apk-tools 3" "--apk PROGRAM" -- "$WORK/served" --from "$WORK/packages" \
        --apk /bin/true
    [ -z "$(ls -A "$WORK/served")" ] || fail "written: $(ls "$WORK/served")"
}

test_invalid_keys_are_refused() {
    need_mkpkg
    fresh
    pack 1
    openssl ecparam -name secp384r1 -genkey -noout -out "$KEYS/other.pem"
    refuses "no private EC key on curve prime256v1" -- "$WORK/served" --from "$WORK/packages" \
        --key "$KEYS/other.pem"
    refuses "cannot be read" -- "$WORK/served" --from "$WORK/packages" --key "$KEYS/nowhere.pem"
    # build/ is in the work tree, but never committed.
    openssl ecparam -name prime256v1 -genkey -noout -out "$TOP/build/test-key.pem"
    refuses "is in the repository" -- "$WORK/served" --from "$WORK/packages" \
        --key "$TOP/build/test-key.pem"
    rm "$TOP/build/test-key.pem"
    [ -z "$(ls -A "$WORK/served")" ] || fail "written: $(ls "$WORK/served")"
}

index_names() {
    local into
    into=$WORK/served/packages/$(uname -m)/fastpath
    rm -rf "$WORK/keys"
    mkdir "$WORK/keys"
    cp "$WORK/served/fastpath.pem" "$WORK/keys/"
    "$APK" verify --keys-dir "$WORK/keys" "$into/packages.adb" >/dev/null || fail "not signed"
    "$APK" adbdump --format json "$into/packages.adb" |
        jq -r '.packages[] | "\(.name)-\(.version).apk"' | sort
}

test_a_feed_has_an_index_its_packages_and_a_key() {
    need_mkpkg
    fresh
    pack 1
    published
    local into first
    into=$WORK/served/packages/$(uname -m)/fastpath
    [ "$(stat -c %a "$KEYS/fastpath/feed-key.pem")" = 600 ] || fail "others read the key"
    first=$(cat "$WORK/served/fastpath.pem")
    same <(index_names) <(cd "$into" && printf '%s\n' *.apk | sort) "the packages of the index"
    [ "$(index_names | wc -l)" = "$(wc -w <<<"$PACKAGES")" ] || fail "not all: $(index_names)"
    # The next version keeps the key and removes packages that left the index.
    pack 2
    published
    [ "$(cat "$WORK/served/fastpath.pem")" = "$first" ] || fail "another key the second time"
    same <(index_names) <(cd "$into" && printf '%s\n' *.apk | sort) "the packages of the index"
    ! index_names | grep -v suricata | grep -v -- -r2.apk || fail "a package of before is left"
    # Packages for another architecture, one of them missing.
    mv "$WORK/packages/$(uname -m)" "$WORK/packages/mips64_other"
    rm "$WORK"/packages/mips64_other/luci-app-*
    refuses "is for $(uname -m)" "there is no luci-app-fastpath" -- "$WORK/served" \
        --from "$WORK/packages"
}

with_programs() {
    fresh
    [ -e "$TOP/ui/dist/index.html" ] || skip "there is no page (./build.sh page)"
    cp "$TOP/build/cargo/debug/fastpath" "$WORK/built/bin/"
    cp "$TOP/build/fastpath.o" "$WORK/build/fastpathd/"
    rm -rf "$WORK/page"
    cp -r "$TOP/ui/dist" "$WORK/page"
    rm -f "$WORK/built/usr/bin/suricata"
    [ ! -x "$OPENWRT_ROOT/usr/bin/suricata" ] ||
        cp "$OPENWRT_ROOT/usr/bin/suricata" "$WORK/built/usr/bin/"
    cp -r "$OPENWRT_ROOT"/etc/suricata/*.config "$WORK/build/suricata/etc/" 2>/dev/null || true
    mv "$WORK/build/suricata/etc/threshold.config" "$WORK/build/suricata/" 2>/dev/null || true
}

readme_commands() {
    sed -n '/^## Install on OpenWrt/,/^## /p' "$TOP/README.md" | sed -n '/^```$/,/^```$/p' |
        grep -v '^```' | sed "s|https://[^/ ]*/feed|$SERVER|"
}

# Starts a router and installs version 1 as README.md says.
installed() {
    with_programs
    pack 1
    published
    router_up >"$WORK/boot.log" 2>&1 || fail "$(cat "$WORK/boot.log")"
    # The root may contain another Suricata.
    on_router 'apk del suricata; cp -a /etc/config /tmp/config' >/dev/null 2>&1 || true
    readme_commands >"$WORK/commands"
    grep -q 'apk add fastpath' "$WORK/commands" || fail "README.md has no commands"
    on_router "set -e; $(cat "$WORK/commands")" >"$WORK/install.log" 2>&1 ||
        fail "README.md's commands: $(cat "$WORK/install.log")"
    [ -z "$(scripts_failed "$WORK/install.log")" ] || fail "$(cat "$WORK/install.log")"
}

# scripts_failed LOG: prints errors of package scripts, which apk indents.
scripts_failed() {
    grep -iE '^ERROR|^ +\* .*(not found|failed|no such|error)|exited with' "$1" || true
}

answers() {
    eventually 'ubus call fastpath status'
    router_says "the page" "uclient-fetch -q -O - http://127.0.0.1/fastpath/" '<html' 'Content-Sec'
    router_says "a file of the page" 'uclient-fetch -q -O - "http://127.0.0.1/fastpath/$(
        cd /www/fastpath && find . -name "*.js" | head -n 1)" | head -c 100' ''
    eventually "$(login fastpath.access) | grep -q ubus_rpc_session"
    router_says "LuCI's menu" 'cat /usr/share/luci/menu.d/luci-app-fastpath.json' fastpath
    local session
    session=$(on_router "$(login fastpath.access) | jsonfilter -e '@.result[1].ubus_rpc_session'")
    router_says "the page's question" "$(asked "$session" fastpath status '{}')" '"engine"'
}

asked() {
    printf 'uclient-fetch -q -O - --post-data="%s" http://127.0.0.1/ubus' "$(printf \
        '{"jsonrpc":"2.0","id":1,"method":"call","params":["%s","%s","%s",%s]}' "$@" |
        sed 's/"/\\"/g')"
}

login() {
    local nonce
    # shellcheck disable=SC2016 # expanded on the router
    nonce='$(ubus call fastpath.access begin | jsonfilter -e @.nonce)'
    asked 00000000000000000000000000000000 "$1" login \
        "{\"username\":\"root\",\"password\":\"secret\",\"nonce\":\"$nonce\"}"
}

test_a_router_installs_from_a_feed() {
    need_root
    installed
    answers
    router_says "services" 'for s in fastpathd fastpath-rules fastpath-cpu fastpath-change; do
        /etc/init.d/$s enabled && echo "$s is enabled"; done; pidof fastpathd' \
        "fastpathd is enabled" "fastpath-rules is enabled" "fastpath-cpu is enabled" \
        "fastpath-change is enabled"
    router_says "its user" 'ps w | grep [/]usr/sbin/fastpathd' fastpath
    router_says "the user of updates" 'ls -ld /var/lib/fastpath/rules' fastpath-rules
    router_says "network and firewall are as they were" 'for f in network firewall dhcp; do
        cmp /etc/config/$f /tmp/config/$f && echo "$f stays"; done' \
        "network stays" "firewall stays" "dhcp stays"
    router_says "inspection" 'apk add fastpath-ips && apk list -I' suricata-8
    answers
}

test_an_index_with_an_unknown_key_is_refused() {
    need_root
    installed
    openssl ecparam -name prime256v1 -genkey -noout -out "$KEYS/stranger.pem"
    feed "$WORK/served" --from "$WORK/packages" --key "$KEYS/stranger.pem" >/dev/null
    ! on_router 'apk update' >"$WORK/said" 2>&1 || fail "taken: $(cat "$WORK/said")"
    grep -q UNTRUSTED "$WORK/said" || fail "why? $(cat "$WORK/said")"
}

next_version() {
    local folder
    rm -rf "$WORK/next"
    mkdir -p "$WORK/next/feeds"
    for folder in $FOLDERS; do cp -a "$TOP/$folder" "$WORK/next/$folder"; done
    sed -i "s/option memory .*/option memory '1'/" "$WORK/next/feeds/fastpathd/files/"*.config
    echo '# of the next version' >>"$WORK/next/feeds/fastpathd/files/fastpath.config"
    echo '# of the next version' >>"$WORK/next/suricata-pkg/files/suricata.config"
    pack 2 "$WORK/next"
    published
}

test_an_upgrade_keeps_settings_and_services() {
    need_root
    installed
    on_router 'apk add fastpath-ips && uci set fastpath.ips.memory=99 &&
        uci set fastpath.main.mark_mask=0x60000000 && uci commit fastpath &&
        mkdir -p /etc/fastpath/changes && echo mine >/etc/fastpath/changes/mine &&
        echo "# mine" >>/etc/suricata/threshold.config && touch /tmp/mine' >/dev/null
    eventually 'ubus call fastpath status'
    next_version
    on_router 'pidof fastpathd >/tmp/pids; apk update && apk upgrade' >"$WORK/up.log" 2>&1 ||
        fail "$(cat "$WORK/up.log")"
    [ -z "$(scripts_failed "$WORK/up.log")" ] || fail "$(cat "$WORK/up.log")"
    router_says "versions" 'apk list -I' fastpathd-0.1.0-r2 luci-app-fastpath-0.1.0-r2 \
        fastpath-base-0.1.0-r2 suricata-8.0.8-r2
    answers
    router_says "the owner's settings" 'uci get fastpath.ips.memory; cat /etc/fastpath/changes/mine
        tail -n 1 /etc/suricata/threshold.config' 99 mine "# mine"
    router_says "an old word" 'uci get fastpath.main.mark_mask' 0x78000000
    ! on_router 'grep -qx "$(pidof fastpathd)" /tmp/pids' || fail "the old daemon still runs"
    ! on_router 'uci show | grep -i apk' || fail "a file of apk counts as configuration"
    router_says "scripts of the first boot are done" 'ls /etc/uci-defaults; echo end' end
    ! on_router 'ls /etc/uci-defaults | grep fastpath' || fail "they would run again"
}

test_removal_leaves_no_file() {
    need_root
    installed
    on_router 'apk add fastpath-ips' >/dev/null
    eventually 'ubus call fastpath status'
    on_router 'apk del fastpath fastpath-ips' >"$WORK/del.log" 2>&1 || fail "$(cat "$WORK/del.log")"
    [ -z "$(scripts_failed "$WORK/del.log")" ] || fail "$(cat "$WORK/del.log")"
    ! grep -q 'Takes effect at the next boot' "$WORK/del.log" || fail "what did it change?"
    eventually '! pidof fastpathd'
    eventually '! ubus list | grep fastpath'
    ! on_router 'nft list table inet fastpath' 2>/dev/null || fail "its table is left"
    ! on_router 'ls /etc/rc.d | grep fastpath' || fail "its services are enabled"
    eventually "$(login session) | grep -q ubus_rpc_session"
    on_router 'find /etc /usr /lib /www -name "*fastpath*" -o -name "*suricata*" | sort' \
        >"$WORK/left"
    # The operator's files and apk's records of them remain.
    same <(grep -v '^/etc/apk/' "$WORK/left") <(printf '') "the remaining files"
}
