# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the report of `lab` as a table of 80 columns. $flows: number of flows of small packets.
def right($width): tostring | (" " * ([0, $width - length] | max)) + .;
def left($width): tostring | . + (" " * ([0, $width - length] | max));
def fixed($digits): pow(10; $digits) as $unit | (. * $unit | round) as $n |
    if $digits == 0 then $n | tostring else
        ($n / $unit | floor | tostring) + "." + ($n % $unit + $unit | tostring | .[1:]) end;
def modes: ["off", "five-chain", "flowtable", "ebpf"];
def hook: {xdp: "native XDP", "xdp-generic": "generic XDP", tcx: "TCX"}[.] // .;
def routes: [["inter-vlan", 4], ["inter-vlan", 6], ["pppoe", 4], ["pppoe", 6]];
def named: "  " + ({"inter-vlan": "inter-VLAN", pppoe: "PPPoE"}[.[0]] | left(11)) + "IPv\(.[1])" +
    if . == ["pppoe", 4] then ", NAT" else "     " end;
def packets_s: 1e9 / .cost;
def runs($traffic; $row): .runs | map(select([.traffic, .route, .family] == [$traffic] + $row)) |
    INDEX(.mode);
# group TITLE: a line for each route with a cell for each engine, and with its ratio to off.
def group($title; $traffic; f; $digits; $with_ratio): . as $report | "", $title,
    (routes[] | . as $row | ($report | runs($traffic; $row)) as $runs | ($row | named) +
        (modes | map(. as $mode | ($runs[$mode] // null) as $run |
            if $run == null then "–" | right(8) + "      " else
            ($run | f | fixed($digits) | right(8)) +
            if $with_ratio and $mode != "off"
            then ($run | f) / ($runs.off | f) | "  " + fixed(2) else "      " end end |
            right(15)) | add | sub(" +$"; "")));
# range FIELD: smallest and largest ratio of an engine to off.
def ratios($mode; f): . as $report | [routes[] | . as $row | $report | runs("small"; $row) |
    select(.[$mode]) | (.[$mode] | f) / (.off | f)];
def span($digits): [min, max] | map(fixed($digits)) | unique | join(" to ");
(.hook // "") as $hook |
(if any(.runs[]; .unit == "instructions") then "instructions" else "ns of CPU" end) as $unit |
"                    " + (["off", "five-chain", "flowtable", "eBPF"] |
    map(right(9) + "      ") | add | sub(" +$"; "")),
group("small packets: \($unit) per packet; ratio to off"; "small"; .cost; 0; true),
(if .accel == "uml" then empty else
    group("small packets: packets per second of a CPU with " + (if $unit == "ns of CPU"
        then "no other work" else "10⁹ instructions a second" end) + "; ratio to off"; "small";
        packets_s; 0; true) end),
group("small packets: offload ratio"; "small"; .offload_ratio; 3; false),
group("bulk: offload ratio"; "bulk"; .offload_ratio; 3; false),
"",
"small packets: \($flows) UDP flows in frames of 64 bytes (IPv6: 82); bulk: one TCP connection",
"off: rules only; five-chain: with five more chains\(if $hook == "" then "" else
    "; eBPF: at \($hook / " " | map(hook) | join(" and "))" end)",
(if .accel == "uml" then
    "CPU: of the whole machine, with generator and receivers; its kernel interprets eBPF", "",
    "The gain of the gateway alone is seen in the emulated machine (--machine qemu)."
else "",
    (ratios("flowtable"; packets_s) | span(1)) as $flow |
    (ratios("ebpf"; packets_s) | span(1)) as $ebpf |
    "A box that is at its limit with small packets forwards \($flow) times as many with the flowtable",
    (if $ebpf == "" then "" else "and \($ebpf) times as many with eBPF, " end) +
        "as far as the lab\u0027s CPU decides: its instructions",
    "are not cycles of the box, whose driver differs."
end)
