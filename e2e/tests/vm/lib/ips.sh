# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Inspection: configuration, state, and traffic with content that rules match.
# shellcheck disable=SC2034 # the tests use the names

# Built-in rule that id.txt triggers.
BAD_SID=8100001
EVENTS=/var/run/fastpath/ips/eve.sock

# protection [LINES]: prints a configuration with inspection. LINES are options of `config ips`,
# then sections.
protection() {
    cat <<END
config fastpath 'main'
	option engine 'flowtable'

config ips 'ips'
	option enabled '1'
${1-}
END
}

protect() { protection "${1-}" | configure; }

ips_is() { says ".state == \"$1\"" ips; }

# working: succeeds if Suricata is inline and bound to all configured queues.
working() {
    says '.enabled and .state == "inline" and (.queues | length > 0 and all(.bound))' ips
}

# taken: succeeds if Suricata runs with the daemon's latest files; other reports may be stale.
TAKEN='cd /var/run/fastpath/ips && cmp -s suricata.yaml /var/etc/suricata/accepted.yaml &&
    cmp -s arguments /var/etc/suricata/accepted.arguments &&
    /usr/libexec/lab/instance fresh suricata'
taken() { gw "$TAKEN"; }

# reads LINES: succeeds if the daemon reports the policies and rule sources in LINES.
reads() {
    local default policies exempt sources
    default=$(sed -n "s/^\toption default '\(.*\)'/\1/p" <<<"$1")
    exempt=$(grep -c '^	list exempt ' <<<"$1")
    policies=$(grep -c '^config policy' <<<"$1")
    sources=$(sed -n "s/^config rules '\(.*\)'/\1/p" <<<"$1" | sort | xargs)
    says ".policy.default == \"${default:-inspect}\" and
        (.policy.exempt | length) == $exempt and (.policy.policies | length) == $policies and
        ([.rules.sources[].name] | sort | join(\" \")) == \"$sources\"" ips
}

# Shell code for the gateway that prints Suricata's configured rules.
RULES='sed -n "/^rule-files:/,/^[a-z]/s/^ *- \"\(.*\)\"/\1/p" /var/run/fastpath/ips/suricata.yaml |
    xargs cat'

# own_rules_only: succeeds if only built-in rules are loaded and no update is due. Removing a rule
# source does not unload its rules until the next update.
own_rules_only() {
    says '.rules | .state != "updating" and .next_ms == 0' ips ||
        { gw fastpathctl update-rules && return 1; }
    says ".rules.loaded == $(gw "$RULES" | grep -cE '^(alert|drop|pass|reject) ')" ips
}

protect_inline() {
    protect "${1-}"
    soon 40 reads "${1-}"
    soon 40 taken
    soon 40 steady
}

# steady: succeeds if Suricata works and no restart is in progress: it keeps working for seconds
# before it exits.
steady() {
    local process
    # @sleep: Suricata works on for seconds after a request to end, and nothing reports the request
    process=$(pids Suricata-Main) && sleep 3 &&
        [ "$process" = "$(pids Suricata-Main)" ] && working
}

ips_value() { said "$1" ips; }

# suricatas COMMAND…: sends a command to Suricata's socket. Retries, because Suricata may reset
# connections while it loads rules.
suricatas() {
    # @sleep: between two questions to Suricata's socket
    gw "for try in 1 2 3 4 5 6 7 8 9; do
            suricatasc -c '$*' /var/run/suricata/command.sock && exit
            busybox sleep 1
        done
        exit 1"
}

# bad_page HOST ADDRESS: prints the received bytes of header and body.
bad_page() {
    "$1" "curl -gs -m 3 -o /dev/null -w '%{size_header} %{size_download}' \
        http://$(bracketed "$2")/id.txt || true"
}

good_page() { h10 "curl -gsf -m ${2:-$(patient 1)} -o /dev/null http://$(bracketed "$1")/index.html"; }

# stopped_page ADDRESS: succeeds if no connection is possible.
stopped_page() { ! good_page "$1" 2; }

alert_after() {
    says ".last > $1 and (.alerts[0] | .action == \"$3\" and .sid == $BAD_SID and .src == \"$2\")" \
        alerts --sid "$BAD_SID" --limit 1
}

bad_bytes() { peers 'cat /tmp/e2e/bad.answer 2>/dev/null | wc -c'; }
bad_page_arrived() { [ "$(bad_bytes)" != 0 ]; }

# drop_reported LAST ADDRESS: like `alert_after`, but prints the state on failure.
drop_reported() {
    alert_after "$1" "$2" blocked && return
    printf 'bytes that arrived: %s; ' "$(bad_bytes)"
    said '{state, why, since_ms}' ips
    return 1
}

# dropped ADDRESS: fails unless an alert reports the drop and no byte of the answer reaches h10. A
# timed browser test checks the alert's delay of 2 s.
dropped() {
    local last
    last=$(said .last alerts)
    peers 'rm -f /tmp/e2e/bad.answer'
    begin h10 bad "curl -gsiN -m $(patient 2) -o /tmp/e2e/bad.answer \
        http://$(bracketed "$1")/id.txt"
    soon 2 drop_reported "$last" "$1"
    never 3 bad_page_arrived
    end bad
    peers 'rm -f /tmp/e2e/bad.answer'
}

# after_file HOST PORT ADDRESS [SECONDS]: requests a file of 2 MiB, then the bad page on the same
# connection. Prints the bytes of both and the number of connections.
after_file() {
    local each="-gs --local-port $2 -w '%{size_download} %{num_connects} ' -o /dev/null"
    "$1" "curl $each -m $(patient 5) http://$(bracketed "$3")/2.bin \
        --next $each -m ${4:-$(patient 5)} http://$(bracketed "$3")/id.txt || true"
}

# counted PORT: counts the connection's slow-path bytes independently of our rules.
counted() {
    change_rules <<END
table inet e2e
delete table inet e2e
table inet e2e {
    chain forward {
        type filter hook forward priority raw
        th sport $1 counter
        th dport $1 counter
    }
}
END
}

slow_bytes() {
    gw nft list chain inet e2e forward |
        sed -n 's/.* bytes \([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n }'
}

gateway_ms() { gw date +%s%3N; }

# shows STATE SINCE: waits for STATE and sets TOOK to its delay after SINCE in ms, by the gateway's
# clock.
shows() {
    soon 10 ips_is "$1"
    TOOK=$(($(ips_value .since_ms) - $2))
    note "$1 after $TOOK ms"
}

# hold_suricata: suspends the supervisor, which would restart Suricata.
hold_suricata() { instance hold suricata; }
release_suricata() { instance release suricata; }
# -o selects the oldest process: a test run of rules has the same name.
kill_suricata() { gw 'pkill -KILL -o -x Suricata-Main; date +%s%3N'; }
pause_suricata() { gw 'pkill -STOP -x Suricata-Main; date +%s%3N'; }
resume_suricata() { gw 'pkill -CONT -x Suricata-Main; date +%s%3N'; }

# feed: sends lines from stdin like Suricata.
feed() { gw "socat -u - UNIX-CONNECT:$EVENTS"; }

daemon_kib() { gw "sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' /proc/$(daemon_pid)/status"; }

# Cleanup on the gateway after every test. Suricata or its supervisor may be suspended.
# shellcheck disable=SC2016 # expanded on the gateway
IPS_BACK='
pkill -x socat
pkill -CONT -f suricata
# The counters of Suricata stop until the clock has passed its earlier time.
if [ -e /run/e2e/clock-went-back ]; then
    rm /run/e2e/clock-went-back
    pkill -x Suricata-Main
fi
[ ! -e /usr/bin/suricata.e2e ] || mv -f /usr/bin/suricata.e2e /usr/bin/suricata
while read -r _ where _; do
    # /var is a link to /tmp on OpenWrt.
    case $where in
        /var/log/suricata | /var/lib/fastpath | /tmp/log/suricata | /tmp/lib/fastpath)
            busybox umount "$where"
            ;;
    esac
done </proc/mounts
[ ! -e /tmp/flood ] || rm /tmp/flood
if [ -e /run/netns/e2ea ]; then
    ip netns pids e2ea | xargs -r kill
    ip netns delete e2ea
    ip netns delete e2eb
fi
[ ! -e /run/e2e/network ] || mv -f /run/e2e/network /etc/config/network
# Suricata disables GRO in tap mode and does not restore it when killed.
ethtool -K lan1 gro on
'
