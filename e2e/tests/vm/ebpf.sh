# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later

# least_of PACKETS: prints the file's size plus 52 bytes of IP and TCP headers per packet.
least_of() { echo $((209715200 + $1 * 52)); }

counted_all() {
    local flow
    flow=$(newest --proto tcp --text "$1")
    [ "$(field down_bytes "$flow")" -ge "$(least_of "$(field down_packets "$flow")")" ] ||
        { echo "$flow"; return 1; }
}

# h10 downloads 200 MB. Programs and stack together count all bytes including headers.
# @each isp | 4 @core
# @each isp | 6
# @each h20 | 4
test_the_programs_forward_a_download_from() {
    local port flow bytes packets again address=${1^^}_$2
    port=$(fresh_port)
    engine_ebpf
    again=$(retransmitted "$1")
    # Rate-limited, so that the flow can be checked during the download.
    begin h10 fetch "curl -gsSf -o /dev/null --limit-rate 20M --local-port $port" \
        "http://$(bracketed "${!address}")/200.bin"
    soon 10 on_path ebpf --proto tcp --text "$port"
    carried_from "$port"
    soon 60 ended fetch
    ended_well fetch
    carried_to "$port" 209715200
    soon 5 counted_all "$port"
    flow=$(newest --proto tcp --text "$port")
    bytes=$(field down_bytes "$flow")
    packets=$(field down_packets "$flow")
    again=$(($(retransmitted "$1") - again))
    note "counted: $bytes bytes in $packets packets, $(kernel_saw "$port") seen by the stack," \
        "$again sent twice"
    between "bytes that the daemon counts, of the file and its headers" "$bytes" \
        "$(least_of "$packets")" $((209716200 + packets * 72 + again * 1500))
}
