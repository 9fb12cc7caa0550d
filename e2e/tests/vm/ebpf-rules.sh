# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Routing rules count for what the eBPF programs carry.

# arrived PORT: bytes that the program behind that port of h10's has got.
arrived() {
    h10 ss -tinH "sport = :$1" | grep -o 'bytes_received:[0-9]*' | cut -d : -f 2
}
more_arrived() { [ "$(arrived "$1")" -gt "$2" ]; }

# goes_on_over_ebpf PORT
goes_on_over_ebpf() {
    soon 60 more_arrived "$1" "$(arrived "$1")"
    soon 20 on_path ebpf --proto tcp --text "$1"
}

# leaving_by DEVICE: packets from h10 to the ISP's server that were forwarded to there.
leaving_by() {
    gw nft list table inet e2e | awk -v device="\"$1\"" '
        $0 ~ device { for (i = 1; i < NF; i++) if ($i == "packets") print $(i + 1) }'
}
more_leave_by() { [ "$(leaving_by "$1")" -gt "$2" ]; }

test_flows_of_a_routing_rule_go_its_way() {
    local port
    port=$(fresh_port)
    trap 'gw "ip rule del from 10.10.10.0/24 lookup 100; ip route flush table 100" 2>/dev/null' EXIT
    engine_ebpf
    download h10 "$port" "$ISP_4" 300k
    soon 15 on_path ebpf --proto tcp --text "$port"
    gw "nft -f - <<END
table inet e2e {
    chain forward {
        type filter hook forward priority 0
        oifname \"br-lan.20\" ip saddr 10.10.10.10 ip daddr $ISP_4 counter
    }
}
END
    ip route add default via $H20_4 table 100
    ip rule add from 10.10.10.0/24 lookup 100"
    soon 20 more_leave_by br-lan.20 0
    soon 5 on_path slow/policy-routed --proto tcp --text "$port"
    gw 'fastpathctl --json doctor --check policy-routing || true' |
        jq -e '.findings[0].severity == "warning"' >/dev/null || fail "the doctor finds nothing"
    gw ip rule del from 10.10.10.0/24 lookup 100
    goes_on_over_ebpf "$port"
}
