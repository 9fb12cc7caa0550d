# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Services that are often combined with fastpath: OpenWrt's packages if installed, otherwise
# Debian's programs with the same configuration.

is_openwrt() { gw '[ -x /sbin/procd ]'; }

# package NAME FILE: skips the test without the package. Call it before at_the_end.
package() {
    gw "[ -e $2 ]" ||
        skip "package $1 is not installed on this gateway (no $2)"
}

# in_flowtable: waits until the connection from PORT is offloaded and reported as such.
in_flowtable() {
    soon 10 on_path flowtable --proto tcp --text "$PORT"
    soon 3 offloaded "$PORT"
}

offloads() {
    PORT=$(fresh_port)
    download "$1" "$PORT" "$2"
    in_flowtable
}

# stays_offloaded: fails unless the download is offloaded and receives data.
stays_offloaded() {
    offloaded "$PORT" || fail "not offloaded any more: $(conntrack_of "$PORT")"
    soon 10 bytes_grow "$PORT" "$(conntrack_bytes "$PORT" | cut -d ' ' -f 2)"
}

# pour_from HOST PORT: serves 32 MiB per client.
pour_from() {
    begin "$1" "pour$2" "exec socat TCP4-LISTEN:$2,fork,reuseaddr EXEC:/tmp/e2e/pour"
    soon 5 listens "$1" "$2"
}
listens() { "$1" ss -Hltn "sport = :$2" | grep -q .; }

# run_service NAME COMMAND…: runs a program on the gateway until stop_service NAME.
run_service() {
    local name=$1
    shift
    gw "$* </dev/null >/run/e2e/$name.log 2>&1 & echo \$! >/run/e2e/$name.pid"
}
stop_service() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'file=/run/e2e/'"$1"'.pid; [ ! -e $file ] || { kill "$(cat $file)"; rm -f $file; }'
}

# settings FILE: replaces /etc/config/FILE with stdin, until settings_back FILE.
settings() {
    gw "[ -e /run/e2e/before.$1 ] || [ ! -e /etc/config/$1 ] ||
            cp /etc/config/$1 /run/e2e/before.$1
        cat >/etc/config/$1"
}
settings_back() {
    gw "if [ -e /run/e2e/before.$1 ]; then mv /run/e2e/before.$1 /etc/config/$1
        else rm -f /etc/config/$1; fi"
}

# at_the_end COMMAND: runs COMMAND when the test has ended.
at_the_end() {
    # shellcheck disable=SC2064 # expanded now
    trap "$1" EXIT
}

address_of() {
    "$1" "ip -$3 -o addr show dev $2 scope global" | sed -n 's/.* inet6\{0,1\} \([^ /]*\).*/\1/p'
}

isp_link() {
    isp "ip -o -4 addr show to $(wan_address)/32 | head -n 1; ip -o route get $(wan_address)" |
        sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1
}
