# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the report as a table, for the terminal and docs/BENCHMARKS.md.
def padded(width): tostring | . + (" " * ([0, width - length] | max));
def right(width): tostring | (" " * ([0, width - length] | max)) + .;
def name: "IPv\(.ip)\(if .nat == 1 then " NAT" else "" end) \(.proto) \(.size) B, \(.flows) flow" +
    (if .flows == 1 then "" else "s" end) +
    (if .link == "plain" then "" else ", " + .link end) +
    (if .sum == "full" then "" else ", checksum " + .sum end) +
    (if .out == "dum" and .bench == "virtio" then ", egress with offload" else "" end);
def title: {
    veth: "Virtual Ethernet, instructions a packet; net of one that is dropped as it comes in",
    virtio: "virtio-net, instructions a packet, receive and transmit of the driver included",
    setup: "A connection\u0027s first packets, virtual Ethernet, instructions a packet",
    "setup-virtio": "A connection\u0027s first packets, virtio-net, instructions a packet",
    first: "A connection\u0027s first packets in both directions, virtual Ethernet, instructions a packet",
    daemon: "A new connection in the daemon, and a question about a route, instructions",
    connection: "A TCP connection without data, instructions; net of one without the gateway",
    modes: "Ways of inspection, virtual Ethernet, instructions a packet",
    contention: "Two CPUs, virtio-net, instructions of the forwarding CPU a delivered packet",
    inspect: "Inspection, virtual Ethernet, instructions a packet",
    time: "Virtual Ethernet, nanoseconds of real time (median of five)"
}[.];
def cell: if . == null then "" else tostring end;
# A line per tunnel and direction, with the sizes side by side.
def tunnels:
    "", "Tunnels, net instructions a packet; ratio: flowtable to off", "",
    "| \("tunnel" | padded(15)) | way  | 60 B: off | flowtable | ratio | 1414 B: off | flowtable | ratio |",
    "| \("-" * 15) | ---- | --------: | --------: | ----: | ----------: | --------: | ----: |",
    (group_by(.link | split("-") | [.[1:], .[0] == "from"])[] | . as $rows | .[0].link | split("-") |
        "| \(.[1:] | join(" ") | padded(15)) | \(.[0]) " + ([60, 1414] | map(. as $size |
        ([$rows[] | select(.size == $size)] | INDEX(.engine)) | [.conntrack, .flowtable] |
        (.[0].net | cell | right(if $size == 60 then 9 else 11 end)) +
        " | " + (.[1].net | cell | right(9)) + " | " +
        (if any(.comparable == false) then "  n/c"
        elif .[1] then .[1].net / .[0].net | . * 100 | round / 100 | right(5)
        else "     " end)) | map("| " + . + " ") | add) + "|");
(.rows | group_by(.bench)[] | if .[0].bench == "tunnel" then tunnels else
    "", (.[0].bench | title), "",
    "| \("traffic" | padded(44)) | \("engine" | padded(22)) |   gross |     net | flowtable = 1 |",
    "| \("-" * 44) | \("-" * 22) | ------: | ------: | ------------: |",
    (.[] | "| \(name + (if .packet then ", packet \(.packet)" else "" end) | padded(44)) " +
        "| \(.engine | padded(22)) | \(.cost | right(7)) | \(.net | cell | right(7)) " +
        "| \(if .comparable then .ratio | cell else "not comparable" end | right(13)) |") end),
"",
"| \("goal" | padded(52)) | at most |      is | met |",
"| \("-" * 52) | ------: | ------: | --- |",
(.goals[] | "| \(.what | padded(52)) | \(.limit | right(7)) | \(.is | right(7)) " +
    "| \(if .met then "yes" else "no " end) |"),
""
