# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Access rights of each role over HTTP, on ubus and from the networks, compared with docs/ACCESS.md.
# access-files.sh covers files; lib/access.sh regenerates the page.
# shellcheck source=e2e/tests/vm/lib/access.sh
. "$VM/lib/access.sh"

# @core
test_access_over_http_to_objects() {
    with_luci_viewer
    # shellcheck disable=SC2046 # one argument per word
    node "$VM/access/http.mjs" "$(ubus_url)" methods $(sessions) >"$RUN/access.seen"
    as_documented http 'fastpath'
}

test_access_over_http_to_configurations_and_files() {
    with_luci_viewer
    # shellcheck disable=SC2046 # one argument per word
    {
        gw 'ls /etc/config' |
            node "$VM/access/http.mjs" "$(ubus_url)" packages $(sessions)
        printf '%s\n' dhcp fastpath firewall network rpcd suricata |
            node "$VM/access/http.mjs" "$(ubus_url)" masked $(sessions)
        # shellcheck disable=SC2016 # expanded on the gateway
        gw 'for path in /etc/shadow /etc/passwd /etc/config/network /etc/config/rpcd \
            /etc/fastpath /etc/fastpath/access.key /etc/dropbear/*_host_key \
            /etc/dropbear/authorized_keys /etc/rc.local /etc/crontabs/root /etc/firewall.user \
            /etc/init.d/fastpathd /var/run/rpcd /var/log /proc/1/environ /tmp/firmware.bin \
            /tmp/backup.tar.gz; do
            [ ! -e "$path" ] && [ "${path#/tmp/}" = "$path" ] || echo "$path"
        done' | node "$VM/access/http.mjs" "$(ubus_url)" paths $(sessions)
        # shellcheck disable=SC2016 # expanded on the gateway
        gw 'for program in /bin/sh /bin/ping /usr/sbin/nft /sbin/ifup /sbin/sysupgrade; do
            [ ! -x "$program" ] || echo "$program"
        done' | node "$VM/access/http.mjs" "$(ubus_url)" programs $(sessions)
    } >"$RUN/access.seen"
    gw rm -f /tmp/firmware.bin /tmp/backup.tar.gz
    as_documented http-files 'fastpath' '(fastpath|/etc|/proc|/var)'
}

# web_answer SESSION WHAT: prints the response body and the HTTP status.
web_answer() {
    local at
    at=$(ubus_url)
    at=${at%/ubus}
    set -- "$1" "${2%% *}" "${2#* }"
    case $2 in
        GET)
            set -- -H "Authorization: Bearer $1" -b "sysauth_http=$1; sysauth=$1" --path-as-is \
                "$at$3"
            ;;
        backup) set -- -d "sessionid=$1" "$at/cgi-bin/cgi-backup" ;;
        download) set -- -d "sessionid=$1" --data-urlencode "path=$3" "$at/cgi-bin/cgi-download" ;;
        exec) set -- -d "sessionid=$1" --data-urlencode "command=$3" "$at/cgi-bin/cgi-exec" ;;
        upload)
            set -- -F "sessionid=$1" -F "filename=$3" -F "filedata=@$VM/perform" \
                "$at/cgi-bin/cgi-upload"
            ;;
    esac
    # Limit the time, because an event stream does not end.
    curl -s -m "$(patient 3)" -w '\n%{http_code}' "$@" | tr -d '\0' || true
}

web_result() {
    local answer
    answer=$(web_answer "$1" "$2")
    case $answer in
        # Uploads and ubus report refusals with HTTP status 200.
        *'"failure"'* | *'"code":-13'* | *'"code":-32002'*) echo no ;;
        *$'\n'2??) echo yes ;;
        *) echo no ;;
    esac
}

test_access_to_the_web_server() {
    local kind item id line
    with_luci_viewer
    read -ra ids <<<"$(sessions)"
    while read -r kind item; do
        line="$kind"$'\t'"$item"
        for id in "${ids[@]}"; do
            line+=$'\t'$(web_result "$id" "$kind $item")
        done
        echo "$line"
    done >"$RUN/access.seen" <<'END'
GET /fastpath/
GET /fastpath/../../etc/shadow
GET /fastpath/%2e%2e/%2e%2e/etc/shadow
GET /ubus/subscribe/fastpath
GET /ubus/list
GET /cgi-bin/luci/
GET /cgi-bin/luci/admin/system/system
backup /etc
download /etc/config/network
download /etc/shadow
exec /bin/true
upload /tmp/backup.tar.gz
upload /tmp/firmware.bin
upload /etc/e2e-upload
END
    gw rm -f /tmp/firmware.bin /tmp/backup.tar.gz /etc/e2e-upload
    as_documented web '(backup|upload)' '(GET|backup|download|exec|upload)'
}

# methods: prints `OBJECT METHOD` of all objects. One interface represents all.
methods() {
    post '{"jsonrpc": "2.0", "id": 1, "method": "list", "params": ["*"]}' |
        jq -r '.result | to_entries[] | .key as $o | .value | keys[] | "\($o) \(.)"' |
        awk '/^network[.]interface[.]/ { sub(/[.][^. ]* /, ".wan ") } !seen[$0]++'
}

# on_ubus USER: prints the user's result for each method, and which objects are visible.
on_ubus() {
    gw "$(as_user "$1") sh -c $(printf '%q' "$ON_UBUS")" <<<"$METHODS"
}
# shellcheck disable=SC2016 # expanded on the gateway
ON_UBUS='
visible=" $(ubus list | xargs) "
last=
while read -r object method; do
    there=
    case $visible in *" $object "*) there=1 ;; esac
    if [ "$object" != "$last" ]; then
        last=$object
        printf "%s\t(lookup)\t%s\n" "$object" "$([ -z "$there" ] && echo no || echo yes)"
    fi
    args="{}"
    [ "$object $method" != "fastpath.doctor run" ] || args="{\"checks\": [\"none\"]}"
    said=$(ubus call "$object" "$method" "$args" 2>&1 </dev/null)
    result=yes
    case $said in
        *"ermission denied"*) result=no ;;
        # ubusd hides objects without a callable method.
        *"Not found"*) [ -n "$there" ] || result=no ;;
    esac
    printf "%s\t%s\t%s\n" "$object" "$method" "$result"
done
# Notifications arrive every second.
first=$(ubus subscribe fastpath 2>/dev/null </dev/null | head -n 1)
printf "fastpath\t(subscribe)\t%s\n" "$([ -z "$first" ] && echo no || echo yes)"
'

# @core
test_access_on_ubus() {
    METHODS=$(methods)
    has "methods" "$METHODS" "uci set"
    for_each_user on_ubus | sed 's/^network[.]interface[.]wan/network.interface.*/' \
        >"$RUN/access.seen"
    as_documented ubus 'fastpath'
}

addresses_for() {
    case $1 in
        h10) echo 10.10.10.1 2001:db8:10::1 ;;
        h20) echo 10.10.20.1 2001:db8:20::1 ;;
        isp) echo "$(wan_address)" "$(address_of gw pppoe-wan 6 | head -n 1)" ;;
    esac
}

# Source port of the test datagrams.
FROM_PORT=40123

# knock HOST IPV4 IPV6: for each `tcp PORT` or `udp PORT` on stdin, connects and prints e.g. `TCP4
# PORT` on success, or sends a datagram.
knock() {
    "$1" "
        knock() {
            case \$1 in
                tcp) socat -u /dev/null TCP\$3:\$4:\$2,connect-timeout=3 2>/dev/null &&
                    echo TCP\$3 \$2 ;;
                udp) echo e2e | socat -u - \
                    UDP\$3-SENDTO:\$4:\$2,sourceport=$FROM_PORT,reuseaddr 2>/dev/null ;;
            esac
        }
        while read -r kind port; do
            knock \$kind \$port 4 '$2' </dev/null
            knock \$kind \$port 6 '[$3]' </dev/null
        done
        ping -c 2 -W 2 $2 >/dev/null 2>&1 && echo ICMP4 echo
        ping -c 2 -W 2 $3 >/dev/null 2>&1 && echo ICMP6 echo
        true"
}

# record_datagrams: records the source datagrams accepted by the firewall.
record_datagrams() {
    gw nft -f - <<END
table inet e2e
delete table inet e2e
table inet e2e {
    set passed { typeof meta nfproto . udp dport; flags dynamic; size 1024; }
    chain in {
        type filter hook input priority 400; policy accept;
        udp sport $FROM_PORT add @passed { meta nfproto . udp dport }
    }
}
END
}
datagrams() {
    gw nft -j list set inet e2e passed |
        jq -r '.nftables[].set.elem // [] | .[] | (.elem.val // .).concat |
            "UDP\(if .[0] == "ipv4" or .[0] == 2 then 4 else 6 end) \(.[1])"'
}

# Sources: the LAN, a zone that may not reach the router, and the Internet.
# @core
test_access_from_the_networks() {
    local host listening seen=$RUN/access.reached
    listening=$(gw "ss -Hlntu" | awk '{ sub(/.*:/, "", $5); print $1, $5 }' | sort -u)
    has "ports that listen" "$listening" "tcp 80"
    : >"$seen"
    for host in h10 h20 isp; do
        record_datagrams
        # shellcheck disable=SC2046 # one address per word
        knock "$host" $(addresses_for "$host") <<<"$listening" | sed "s/^/$host /" >>"$seen"
        datagrams | sed "s/^/$host /" >>"$seen"
    done
    has "ports reached" "$(cat "$seen")" "h10 TCP4 80"
    # shellcheck disable=SC2016 # expanded by awk
    awk -v listening="${listening//$'\n'/;}" '
        function fact(kind, port, line, n) {
            line = substr(kind, 1, length(kind) - 1) " over IPv" substr(kind, length(kind))
            line = line "\t" port
            for (n = 1; n <= 3; n++)
                line = line "\t" ((hosts[n], kind, port) in reached ? "yes" : "no")
            print line
        }
        { reached[$1, $2, $3] }
        END {
            split("h10 h20 isp", hosts, " ")
            count = split(listening, ports, ";")
            for (i = 1; i <= count; i++) {
                split(ports[i], port, " ")
                fact(toupper(port[1]) "4", port[2])
                fact(toupper(port[1]) "6", port[2])
            }
            fact("ICMP4", "echo")
            fact("ICMP6", "echo")
        }' "$seen" >"$RUN/access.seen"
    as_documented ports 'ICMP'
}
