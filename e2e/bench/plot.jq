# SPDX-License-Identifier: GPL-2.0-or-later
# Plots a bar per engine with NAT IPv4, 60-byte UDP and one flow.
def escaped: gsub("&"; "&amp;") | gsub("<"; "&lt;");
# Formats a number with two decimals.
def two: (. * 100 | round) as $all |
    "\($all / 100 | floor).\($all % 100 | if . < 10 then "0\(.)" else . end)";
def bars($rows; $key; $top; $title):
    ([$rows[] | .[$key] // 0] | max) as $most |
    "<text x=\"20\" y=\"\($top)\" class=\"title\">\($title | escaped)</text>",
    ($rows | to_entries[] | ($top + 14 + .key * 24) as $y |
        (.value[$key] / $most * 460 | round) as $width |
        "<text x=\"150\" y=\"\($y + 14)\" class=\"name\">\(.value.engine)</text>",
        "<rect x=\"160\" y=\"\($y)\" width=\"\($width)\" height=\"18\" rx=\"2\"" +
            " class=\"\(if .value.engine | IN("tcx", "clsact", "native", "generic")
                then "ours" else "kernel" end)\"/>",
        "<text x=\"\($width + 168)\" y=\"\($y + 14)\">\(.value[$key])" +
            (if .value.ratio then " (\(.value.ratio | two))" else "" end) + "</text>");
def plain: select(.ip == 4 and .size == 60 and .flows == 1 and .link == "plain" and
    .sum == "full" and .proto == "udp") |
    (.engine == "routing" or (.engine | startswith("xdp-forward"))) as $bare |
    select(.nat == if $bare then 0 else 1 end);
[.rows[] | plain | select(.bench == "veth" and .net)] as $veth |
[.rows[] | plain | select(.bench == "virtio" and .out == "wan") |
    select(.engine | startswith("drop") | not)] as $virtio |
($veth | sort_by(.net)) as $veth | ($virtio | sort_by(.cost)) as $virtio |
(60 + ($veth | length) * 24 + 40) as $second |
($second + ($virtio | length) * 24 + 50) as $height |
"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 \($height)\" role=\"img\">",
"<title>Instructions per forwarded packet</title>",
"<style>text{font:13px sans-serif;fill:#333}.title{font-weight:bold}.name{text-anchor:end}" +
    ".ours{fill:#2a7f62}.kernel{fill:#9aa5b1}" +
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.kernel{fill:#6b7682}}</style>",
bars($veth; "net"; 40; "Virtual Ethernet, net instructions per packet (flowtable = 1)"),
bars($virtio; "cost"; $second; "virtio-net, instructions per packet, gross (flowtable = 1)"),
"<text x=\"20\" y=\"\($height - 12)\">NAT IPv4 (routing, xdp-forward: no NAT), " +
    "60-byte UDP, one flow, kernel \(.kernel | escaped)</text>",
"</svg>"
