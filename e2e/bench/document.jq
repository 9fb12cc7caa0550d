# SPDX-License-Identifier: GPL-2.0-or-later
# The matrix of the first source document, and which of our rows belong to it.
def two: . * 100 | round / 100;
def find($rows; $words): [$rows[] | . as $row |
    select(all($words | to_entries[]; $row[.key] == .value))] | .[0];

# The first source document's rows, Gbit/s of one TCP stream (row 7: of eight), and those that only we have.
def streams: [
    {id: "1", mtu: 9000, offloads: "on", rules: "no rules", engine: "routing", gbit: 16.9},
    {id: "2", mtu: 9000, offloads: "off", rules: "no rules", engine: "routing", gbit: 17.2},
    {id: "3", mtu: 1500, offloads: "off", rules: "no rules", engine: "routing", gbit: 4.95},
    {id: "4", mtu: 1500, offloads: "off", rules: "conntrack loaded", engine: "loaded", gbit: 4.84},
    {id: "5", mtu: 1500, offloads: "off", rules: "one rule", engine: "conntrack", gbit: 4.64},
    {id: "6", mtu: 1500, offloads: "off", rules: "five chains", engine: "five-chain", gbit: 2.36},
    {id: "7", mtu: 1500, offloads: "off", rules: "five chains, 8 streams", engine: "five-chain",
        flows: 8, gbit: 11.4},
    {id: "A", mtu: 1500, offloads: "off", rules: "flowtable", engine: "flowtable", gbit: 7.05},
    {id: "B", mtu: 1500, offloads: "on", rules: "flowtable", engine: "flowtable", gbit: 17.4},
    {mtu: 1500, offloads: "on", rules: "no rules", engine: "routing"},
    {mtu: 1500, offloads: "on", rules: "five chains", engine: "five-chain"},
    {mtu: 1500, offloads: "on", rules: "eBPF at TCX", engine: "tcx"},
    {mtu: 1500, offloads: "off", rules: "eBPF at TCX", engine: "tcx"},
    {mtu: 1500, offloads: "off", rules: "eBPF at native XDP", engine: "native"},
    {mtu: 1500, offloads: "off", rules: "flowtable, 8 streams", engine: "flowtable", flows: 8},
    {mtu: 1500, offloads: "off", rules: "eBPF at TCX, 8 streams", engine: "tcx", flows: 8},
    {mtu: 9000, offloads: "off", rules: "flowtable", engine: "flowtable"},
    {mtu: 9000, offloads: "off", rules: "eBPF at TCX", engine: "tcx"}
];
def base: streams[2].gbit;
def row_of($rows): find($rows; {bench: "stream", engine, size: .mtu, flows: (.flows // 1),
    link: "offloads-\(.offloads)"});

def missing: [
    ["K1–K4", "ConnectX VF, kernel", "25.3, 21.1, 4.74, 4.70",
        "needs the card; its offloads are in silicon, and an emulator has none to count"],
    ["V0–V2", "VPP on DPDK", "6.78, 15.7, 35.6",
        "polls a core without end, so it has no instructions a packet; V1 and V2 need the card"]
];
def title: {
    routing: "routing, no rules", conntrack: "one rule with conntrack", "five-chain": "five chains",
    flowtable: "kernel's flowtable", tcx: "fastpath at TCX", generic: "fastpath at generic XDP",
    native: "fastpath at native XDP", "xdp-forward-fib": "xdp-forward fib",
    "xdp-forward-flowtable": "xdp-forward flowtable", bridge: "bridge",
    "bridge-netfilter": "bridge with br_netfilter, one rule",
    "bridge-netfilter-off": "bridge, br_netfilter loaded but off",
    "bridge-offload": "bridge, redirected at TCX (as bridger)",
    drop: "dropped at TCX", "drop-native": "dropped at native XDP"
}[.];
