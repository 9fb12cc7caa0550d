# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Administration through the objects that the page uses: log, WAN up and down, passwords, backups,
# images.

root() { session root fastpath; }
cgi() { echo "http://127.0.0.1:$(lab_port GW_HTTP)/cgi-bin/$1"; }
status_of() { jq -c '.result[0] // .error.code'; }

log_says() {
    rpc "$1" log read '{"lines": 200, "stream": false}' |
        jq -e --arg text "$2" '[.result[1].log[].msg | select(contains($text))] | length > 0'
}

# line SESSION up|down: switches the WAN and prints the status of the call.
line() { rpc "$1" network.interface "$2" '{"interface": "wan"}' | status_of; }

port_is_down() { gw "ip -j link show dev $1" | jq -e '.[0].flags | index("UP") == null'; }

test_wan_is_switched_off_and_on_and_the_log_reports_it() {
    local id mark="mark $RANDOM"
    id=$(root)
    same "answer" "$(line "$id" down)" 0
    soon 30 wan_is_down
    # netifd also takes the port down, which must not be reported as unplugged.
    soon 15 says '.wan[0].hindrance == "disconnected" and
        ([.health[] | [.code, .level]] == [["wan-disconnected", "warning"]])' status
    soon 10 port_is_down wan
    has "fastpathctl" "$(gw fastpathctl status)" "disconnected (pppoe)"
    never 2 wan_is_up
    gw "logger -t lab $mark"
    same "answer" "$(line "$id" up)" 0
    soon 40 wan_is_up
    soon 10 log_says "$id" "lab: $mark"
    soon 10 log_says "$id" "pppd["
    same "for viewer" "$(line "$(session viewer look)" down)" -32002
    wan_is_up || fail "viewer took the line down"
}

# log_lines SESSION [SINCE]: prints the daemon's log lines with levels, from SINCE (gateway time in
# ms). Omits the PID that logd appends to the name.
log_lines() {
    rpc "$1" log read '{"lines": 500, "stream": false}' | jq -r --argjson since "${2-0}" '
        .result[1].log[] | .msg |= sub("^fastpathd\\[[0-9]+\\]: "; "fastpathd: ") |
            select(.time >= $since and (.msg | startswith("fastpathd: "))) |
            "\(.priority % 8) \(.msg)"'
}
log_has() { log_lines "$1" "$SINCE" | grep -q -- "$2"; }

# procd logs every line on stderr as an error.
test_only_faults_are_logged_as_errors() {
    local id wrong SINCE
    id=$(root)
    # Earlier tests may have logged multi-line messages of nft.
    SINCE=$(gateway_ms)
    gw '/etc/init.d/fastpathd restart'
    soon 15 engine_is flowtable
    soon 10 log_has "$id" "^6 fastpathd: ubus: published fastpath"
    configure <<<"config fastpath 'main'
	option engine 'warp'"
    soon 10 log_has "$id" "^3 fastpathd: .*warp"
    gw 'cp /run/e2e/config /etc/config/fastpath; /etc/init.d/fastpathd reload'
    wrong=$(log_lines "$id" "$SINCE" | grep '^3 ' |
        grep -vE '^3 fastpathd: (error|warning): ' || true)
    same "routine lines logged as errors" "$wrong" ""
    soon 5 engine_is flowtable
}

# forged SESSION TEXT: makes calls that the daemon refuses with TEXT in its message.
forged() {
    rpc "$1" fastpath flows "$(jq -nc --arg t "$2" '{sort: $t}')" >/dev/null
    rpc "$1" fastpath flows "$(jq -nc --arg t "$2" '{filter: {($t): 1}}')" >/dev/null
    rpc "$1" fastpath alerts "$(jq -nc --arg t "$2" '{filter: {address: $t}}')" >/dev/null
}

# @fault:log-forged
test_a_viewer_cannot_forge_log_lines() {
    local id lines
    SINCE=$(gateway_ms)
    id=$(session viewer look)
    forged "$id" $'1.2.3\n<3>fastpathd: forged line\r\e[2Jforged'
    forged "$id" "$(printf 'forged%.0s' {1..2000})"
    soon 10 log_has "$(root)" "refused: .*forged"
    lines=$(log_lines "$(root)" "$SINCE")
    same "lines that begin as forged" "$(grep -cE '^. fastpathd: (forged|<3>)' <<<"$lines")" 0
    lacks "the log" "$lines" $'\e'
    # Limit of 1000 for the message, plus level and name.
    between "characters of the longest line" "$(wc -L <<<"$lines")" 20 1020
}

# restored SESSION FILE: uploads FILE, restores it with sysupgrade and prints the answer.
restored() {
    curl -sS -m "$(patient 2)" -F "sessionid=$1" -F filename=/tmp/backup.tar.gz -F "filedata=@$2" \
        "$(cgi cgi-upload)" | jq -e .size >/dev/null || fail "not uploaded"
    rpc "$1" file exec '{"command": "/sbin/sysupgrade",
        "params": ["--restore-backup", "/tmp/backup.tar.gz"]}'
}

# @fault:backup-truncated @fault:backup-foreign @fault:backup-paths
test_backup_is_taken_and_restored() {
    local id folder before bad
    id=$(root)
    folder=$(mktemp -d)
    before=$(gw 'md5sum /etc/config/* /etc/shadow')
    curl -sSf -m "$(patient 2)" -d "sessionid=$id" -o "$folder/good" "$(cgi cgi-backup)"
    has "backup" "$(tar -tzf "$folder/good")" etc/config/network
    # The backup has a boot script that disables the same services.
    has "backup" "$(tar -tzf "$folder/good")" etc/uci-defaults/10_disable_services
    gw 'echo "# later" >>/etc/config/system; sed -i s/10.10.10.1/10.10.10.9/ /etc/config/network'
    head -c 300 "$folder/good" >"$folder/truncated"
    echo foreign >"$folder/foreign"
    mkdir "$folder/in"
    echo bad >"$folder/escaped"
    (cd "$folder/in" && tar -czPf "$folder/upwards" ../escaped)
    for bad in truncated foreign; do
        has "answer to $bad" "$(restored "$id" "$folder/$bad")" '"code":1'
        has "configuration after $bad" "$(gw cat /etc/config/network)" 10.10.10.9
    done
    # GNU tar refuses `..`; BusyBox's tar strips it.
    restored "$id" "$folder/upwards" >/dev/null
    has "configuration after upwards" "$(gw cat /etc/config/network)" 10.10.10.9
    same "a path upwards" "$(gw 'ls /tmp/escaped 2>/dev/null; rm -f /escaped')" ""
    same "answer" "$(restored "$id" "$folder/good" | jq -c .result[1].code)" 0
    gw 'rm /etc/uci-defaults/10_disable_services
        sed -i "/^# later/d" /etc/config/system; [ -s /etc/config/system ] || rm /etc/config/system'
    same "configuration" "$(gw 'md5sum /etc/config/* /etc/shadow')" "$before"
    same "for viewer" "$(curl -sS -o /dev/null -w '%{http_code}' \
        -d "sessionid=$(session viewer look)" "$(cgi cgi-backup)")" 403
    rm -rf "$folder"
}

test_images_are_checked() {
    local id
    gw 'grep -rq lab-image /sbin/sysupgrade /usr/sbin/sysupgrade 2>/dev/null' ||
        skip "sysupgrade takes images for its board only, and the lab makes none"
    id=$(root)
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'head -c 100000 /dev/urandom >/tmp/firmware.bin; echo >>/tmp/firmware.bin
        echo "lab-image $(sha256sum /tmp/firmware.bin | cut -d " " -f 1)" >>/tmp/firmware.bin'
    same "a good one" "$(rpc "$id" rpc-sys upgrade_test '{}' | jq -c .result[1].code)" 0
    gw 'echo x | dd of=/tmp/firmware.bin conv=notrunc bs=1 seek=500 2>/dev/null'
    has "a broken one" "$(rpc "$id" rpc-sys upgrade_test '{}')" "checksum"
    gw 'head -c 5000 /dev/urandom >/tmp/firmware.bin'
    has "a foreign one" "$(rpc "$id" rpc-sys upgrade_test '{}')" "metadata not present"
    same "taken away" "$(rpc "$id" rpc-sys upgrade_clean '{}' | status_of)" 0
    gw '[ ! -e /tmp/firmware.bin ]' || fail "the image is still there"
}

test_password_is_set() {
    local id shadow
    id=$(root)
    shadow=$(gw cat /etc/shadow)
    same "answer" "$(rpc "$id" rpc-sys password_set \
        '{"user": "viewer", "password": "it'"'"'s new"}' | status_of)" 0
    [ -n "$(session viewer "it's new")" ] || fail "the new password is not taken"
    [ -z "$(session viewer look)" ] || fail "the old password is still taken"
    gw 'cat >/etc/shadow' <<<"$shadow"
    [ -n "$(session viewer look)" ] || fail "the old password is not back"
}
