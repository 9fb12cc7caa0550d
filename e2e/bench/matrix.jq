# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the report of `bench matrix` as tables for docs/BENCHMARKS.md, beside the figures of the
# source documents. Needs -L of this folder.
include "document";
def cell: if . == null then "" else tostring end;
def line: "| " + (map(cell) | join(" | ")) + " |";
def header($names; $left): ($names | line),
    "|" + ([range($names | length) | if . < $left then " --- |" else " ---: |" end] | add);
# A section with its table, if there are rows for it.
def table($title; $names; $left; lines):
    [lines] | if . == [] then empty else "**\($title)**", "", header($names; $left), .[], "" end;

# The ratio of a row, unless its runs differ by more than their bound.
def marked(ratio): if .comparable then ratio | two else "n/c" end;
# A machine instruction takes 2 ns; a row's cost is that of a megabyte.
def gbit: 4e6 / . | . * 1000 | round / 1000;
def rows_of_streams($rows):
    ($rows | map(select(.bench == "stream"))) as $rows |
    def row: row_of($rows);
    (streams[2] | row) as $three |
    if $three == null then empty else
    streams[] | row as $row | select($row) |
        ($three.cost / $row.cost) as $gross | ($three.net / $row.net) as $net |
        [.id // "", .mtu, .offloads, .rules, .gbit, (if .gbit then .gbit / base | two else null end),
            ($row.cost | gbit), ($gross | two), $row.net, ($row | marked($net)),
            (if .gbit then $net / (.gbit / base) | two else null end)] | line
    end;
def sizes($rows; $bench; key; $engines; $names):
    table($names.title; $names.columns; 2;
        $rows | map(select(.bench == $bench and .ip == 4 and .link == "plain")) |
        group_by([.flows, .size])[] | . as $same |
        ($same | map(select(.engine == "flowtable")) | .[0]) as $flowtable | select($flowtable) |
        [.[0].size + 4, .[0].flows] + ($engines | map(. as $engine |
            ($same | map(select(.engine == $engine)) | .[0]) as $row |
            if $row then "\($row | key) (\($row | marked(key / ($flowtable | key))))"
            else null end)) | line);

.rows as $rows |
"Figures of \(.date), kernel \(.kernel); \($rows | length) rows, whose runs differ by " +
    "\([$rows[].spread] | add / length * 10000 | round / 100) % on average and by at most " +
    "\([$rows[].spread] | max * 10000 | round / 100) %. Rows without two runs " +
    "that agree (n/c): \(.unsteady | length).", "",
table("TCP streams, one CPU for the gateway and both ends";
    ["row", "MTU", "offloads", "rules", "document, Gbit/s", "to row 3", "here, Gbit/s", "to row 3",
        "gateway alone, instructions a MB", "to row 3", "the same to the document\u0027s"]; 4;
    rows_of_streams($rows)),
table("Rows that cannot be had here"; ["rows", "what", "document, Gbit/s", "why"]; 4;
    missing[] | line),
sizes($rows; "veth"; .net; ["routing", "conntrack", "five-chain", "flowtable", "tcx", "generic"];
    {title: "Frame sizes on virtual Ethernet, net instructions a packet (to the flowtable)",
    columns: ["frame", "flows", "no rules, no NAT", "one rule", "five chains", "flowtable", "TCX",
        "generic XDP"]}),
sizes($rows; "virtio"; .cost;
    ["flowtable", "tcx", "generic", "native"];
    {title: "Frame sizes on virtio-net, gross instructions a packet (to the flowtable)",
    columns: ["frame", "flows", "flowtable", "TCX", "generic XDP", "native XDP"]}),
table("IPv6 and IPv4, net on virtual Ethernet, gross on virtio-net";
    ["device", "engine", "IPv6, 82 B", "to IPv4, 64 B", "IPv6, 1518 B", "to IPv4"]; 2;
    (["veth", "net"], ["virtio", "cost"]) as [$bench, $key] |
    ("flowtable", "tcx", "generic", "native") as $engine |
    def at($ip; $size): find($rows; {$bench, $engine, $ip, $size, nat: 1, flows: 1, link: "plain"})[$key];
    select(at(6; 78)) |
    [{veth: "virtual Ethernet", virtio: "virtio-net"}[$bench], ($engine | title), at(6; 78),
        (at(6; 78) / at(4; 60) | two), at(6; 1514), (at(6; 1514) / at(4; 1514) | two)] | line),
table("Generic XDP and headroom, net instructions a packet";
    ["frame", "flowtable", "TCX", "generic XDP, little headroom: copies",
        "generic XDP, 256 bytes of headroom", "ratio"]; 1;
    (60, 1514) as $size |
    def at($engine; $link): find($rows; {bench: "veth", $engine, $size, $link, ip: 4, flows: 1, nat: 1}).net;
    select(at("generic"; "headroom")) |
    [$size + 4, at("flowtable"; "headroom"), at("tcx"; "headroom"), at("generic"; "plain"),
        at("generic"; "headroom"), (at("generic"; "headroom") / at("generic"; "plain") | two)] | line),
table("Two CPUs: packets of each, and instructions of both a packet (generator on the first)";
    ["flows", "steering", "engine", "instructions", "share of CPU 0, 1 (%)"]; 3;
    $rows | map(select(.bench == "cpus")) | sort_by([.link, .flows])[] |
    [.flows, (if .link == "rps-0" then "none" else "RPS" end), (.engine | title), .cost,
        (.cpus | map(tostring) | join(", "))] | line),
table("Peers, virtio-net, no NAT, gross instructions a packet (to the flowtable)";
    ["program", "64 B", "1518 B"]; 1;
    $rows | map(select(.bench == "peers")) | group_by(.engine) | sort_by(.[0].cost)[] |
    . as $same | .[0].engine as $engine |
    def flowtable($size): find($rows; {bench: "peers", engine: "flowtable", $size}).cost;
    [($engine | title)] + ([60, 1514] | map(. as $size | find($same; {$size}) |
        "\(.cost) (\(marked(.cost / flowtable($size))))")) | line)
