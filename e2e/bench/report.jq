# SPDX-License-Identifier: GPL-2.0-or-later
# Merges the rows of all machines into a report.
# cost: per packet, in ns for bench "time", otherwise in instructions; the first of two runs, or the
# median of more
# spread: relative difference between all runs; apart: smallest difference between two runs
# net: cost minus the cost of a packet dropped at ingress (XDP engines: at XDP), or of a stream or
# connection without a gateway
# ratio: relative to the flowtable, by net on virtual Ethernet and by cost on virtio-net
def scenario: {bench, ip, nat, size, flows, link, sum, proto, out};
def limit: if .bench == "connection" and (.engine | startswith("daemon-")) then 0.1 else
    {virtio: 0.03, "setup-virtio": 0.03, inspect: 0.03, daemon: 0.03, tunnel: 0.03, peers: 0.03,
        cpus: 0.03, stream: 0.05, connection: 0.02, modes: 0.03, contention: 0.2,
        time: 9}[.bench] // 0.01 end;
def round3: . * 1000 | round / 1000;
def median: sort | .[length / 2 | floor];
def apart: if .[0] > 0 then (.[1] - .[0]) / .[0] else 0 end;

def merged: {
    cost: (map(.cost) | if length > 2 then median else .[0] end),
    costs: map(.cost),
    samples: (map(.samples // empty) | if . == [] then null else . end),
    spread: (map(.cost) | [min, max] | apart | round3),
    apart: (map(.cost) | sort | [.[:-1], .[1:]] | transpose | map(apart) | min // 0 | round3)
} | with_entries(select(.value != null));
# Goals exclude virtio-net, which the host influences, TCP streams, and foreign programs.
def decides: (.machine | IN("virtio", "cards", "peers", "streams") | not) and (.engine | IN("tcx", "native", "generic", "product"));
def at_xdp: .bench != "stream" and (.engine | . == "native" or startswith("xdp-"));

def with_net:
    (map(select(.engine | IN("drop", "direct"))) | .[0].cost // null) as $drop |
    (map(select(.engine == "drop-native")) | .[0].cost // null) as $drop_native |
    map((if at_xdp then $drop_native else $drop end) as $drop |
        if $drop and (.engine | startswith("drop") or IN("two-entries", "direct") | not)
        then .net = .cost - $drop else . end) |
    (map(select(.engine == "flowtable")) | .[0] // null) as $flowtable |
    map(if $flowtable == null or (.bench | startswith("setup") or . == "first") then .
        elif .bench | IN("virtio", "peers") then .ratio = (.cost / $flowtable.cost | round3)
        elif .net and $flowtable.net then .ratio = (.net / $flowtable.net | round3)
        else . end);

def pick($bench; $engine; $words):
    ({bench: $bench, engine: $engine, ip: 4, nat: 1, size: 60, flows: 1, link: "plain",
        sum: "full", proto: "udp"} + $words) as $want |
    [.[] | . as $row | select(.comparable and all($want | to_entries[]; $row[.key] == .value))] | .[0];

# goal: omits goals without a value.
def goal($what; $limit; number): {$what, limit: $limit, is: (try number catch null)} |
    select(.is != null) | .is |= round3 | .met = (.is <= $limit);

def goals: . as $rows | [
    goal("TCX to flowtable, net, virtual Ethernet"; 0.60; $rows | pick("veth"; "tcx"; {}).ratio),
    goal("TCX to flowtable, gross, virtio-net"; 0.90; $rows | pick("virtio"; "tcx"; {}).ratio),
    goal("PPPoE over VLAN out, TCX to flowtable, net"; 0.50;
        $rows | pick("veth"; "tcx"; {link: "pppoe-out"}).ratio),
    goal("PPPoE over VLAN in, TCX to flowtable, net"; 1.00;
        $rows | pick("veth"; "tcx"; {link: "pppoe-in"}).ratio),
    goal("native XDP to flowtable, gross, virtio-net"; 0.38;
        $rows | pick("virtio"; "native"; {}).ratio),
    goal("VLAN in and out at native XDP, instructions more"; 150;
        $rows | pick("virtio"; "native"; {link: "vlan-both"}).cost -
            pick("virtio"; "native"; {}).cost),
    goal("VLAN and PPPoE out at native XDP, instructions more"; 150;
        $rows | pick("virtio"; "native"; {link: "pppoe-out"}).cost -
            pick("virtio"; "native"; {}).cost),
    goal("VLAN and PPPoE in at native XDP, instructions more"; 150;
        $rows | pick("virtio"; "native"; {link: "pppoe-in"}).cost -
            pick("virtio"; "native"; {}).cost),
    goal("generic XDP to flowtable, net, virtual Ethernet"; 1.0;
        $rows | pick("veth"; "generic"; {}).ratio),
    goal("generic XDP to flowtable, gross, virtio-net"; 1.0;
        $rows | pick("virtio"; "generic"; {}).ratio),
    goal("IPv6 to IPv4 at TCX, net"; 1.08;
        $rows | pick("veth"; "tcx"; {ip: 6}).net / pick("veth"; "tcx"; {}).net),
    goal("IPv6 to IPv4 at native XDP, gross"; 1.15;
        $rows | pick("virtio"; "native"; {ip: 6, size: 78}).cost /
            pick("virtio"; "native"; {}).cost),
    goal("first packet, our rules to flow add alone, gross"; 1.02;
        $rows | pick("first"; "product"; {flows: 2000, packet: 1}).cost /
            pick("first"; "flowtable"; {flows: 2000, packet: 1}).cost),
    goal("new connection in the daemon, flowtable"; 48112;
        $rows | pick("daemon"; "new-flowtable"; {}).cost),
    goal("new connection in the daemon, ebpf"; 149571;
        $rows | pick("daemon"; "new-ebpf"; {}).cost),
    goal("new connection in the daemon, ebpf, policy routing"; 162252;
        $rows | pick("daemon"; "new-ebpf-policy"; {}).cost),
    goal("50,000 flows to one at TCX, net"; 1.15;
        $rows | pick("veth"; "tcx"; {flows: 50000}).net / pick("veth"; "tcx"; {}).net),
    goal("50,000 flows to one at native XDP, gross"; 1.15;
        $rows | pick("virtio"; "native"; {flows: 50000}).cost /
            pick("virtio"; "native"; {}).cost)
];

group_by([scenario, .engine, .packet]) |
map((.[0] | del(.run, .cost, .round, .idle, .samples)) + merged | .comparable = .apart <= limit) |
[group_by(scenario)[] | with_net] | map(.[]) |
{
    kernel: $kernel,
    date: (now | strftime("%Y-%m-%d")),
    rows: .,
    goals: goals,
    # unsteady: no two runs agree. apart: two runs agree, but not all.
    unsteady: [.[] | select(.comparable | not) |
        {machine, bench, engine, link, ip, size, costs, decides: decides}],
    apart: [.[] | select(.spread > limit) | {machine, bench, engine, link, ip, size, costs}]
}
