# SPDX-License-Identifier: GPL-2.0-or-later
# Plots the matrix: the document's rows as ratios to its row 3, beside ours; and the peers. Needs -L
# of this folder.
include "document";
def text($x; $y; $class): "<text x=\"\($x)\" y=\"\($y)\" class=\"\($class)\">\(.)</text>";
def bar($y; $width; $class):
    "<rect x=\"296\" y=\"\($y)\" width=\"\($width | round)\" height=\"11\" rx=\"2\" class=\"\($class)\"/>";
.rows as $rows |
(streams[2] | row_of($rows).net) as $three |
# Native XDP on virtual Ethernet copies, which says nothing about cards.
[streams[] | select((.flows // 1) == 1 and .engine != "native") | row_of($rows).net as $net | select($net and $three) |
    {name: "\(if .id then .id + ": " else "" end)MTU \(.mtu), offloads \(.offloads), \(.rules)",
    document: (if .gbit then .gbit / base else null end), here: ($three / $net),
    ours: (.engine == "tcx")}] as $streams |
[$rows[] | select(.bench == "peers" and .size == 60 and
    (.engine | startswith("drop") | not))] | sort_by(.cost) as $peers |
([$streams[] | .document // 0, .here] | max // 1) as $most |
([$peers[].cost] | max // 1) as $dearest |
(if $streams == [] then 0 else 60 + ($streams | length) * 32 end) as $second |
($second + 50 + ($peers | length) * 22 + 10) as $height |
"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 \($height)\" role=\"img\">",
"<title>The matrix of the source document and peers</title>",
"<style>text{font:13px sans-serif;fill:#333}.title{font-weight:bold}.name{text-anchor:end}" +
    ".ours{fill:#2a7f62}.kernel{fill:#9aa5b1}.document{fill:#c98a2b}" +
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.kernel{fill:#6b7682}}</style>",
if $streams == [] then empty else
    ("One TCP stream, to row 3: throughput in the document (yellow), here by the gateway\u0027s work" |
        text(20; 30; "title")),
    ($streams | to_entries[] | (44 + .key * 32) as $y | .value as $row |
        def width: . / $most * 400 | round;
        ($row.name | text(290; $y + 16; "name")),
        (($row.document // empty) as $ratio | bar($y; $ratio | width; "document"),
            ($ratio | two | text(304 + ($ratio | width); $y + 10; ""))),
        bar($y + 12; $row.here | width; if $row.ours then "ours" else "kernel" end),
        ($row.here | two | text(304 + ($row.here | width); $y + 22; "")))
end,
if $peers == [] then empty else
    ("Peers: instructions a packet on virtio-net, 64 bytes, no NAT (flowtable = 1)" |
        text(20; $second + 30; "title")),
    (find($peers; {engine: "flowtable"}).cost) as $flowtable |
    ($peers | to_entries[] | ($second + 44 + .key * 22) as $y | .value as $row |
        ($row.cost / $dearest * 360 | round) as $width |
        ($row.engine | title | text(290; $y + 11; "name")),
        bar($y; $width; if $row.engine | IN("tcx", "generic", "native")
            then "ours" else "kernel" end),
        ("\($row.cost) (\($row.cost / $flowtable | two))" |
            text(304 + $width; $y + 11; "")))
end,
"</svg>"
