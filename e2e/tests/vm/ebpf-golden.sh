# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # frames.sh uses the names
# Golden pairs: the same frames leave the gateway as equal bytes, with the engine off and through
# the programs. The test chooses every number in them, so that nothing differs by chance.

HERE=$BUILD/golden
THERE=/tmp/e2e/golden

# golden_flows: prints a line per flow: initiator and responder, then both ends as the initiator
# sees them, then both as the responder sees them. The gateway's own address is that of the WAN.
golden_flows() {
    local wan
    wan=$(wan_address)
    cat <<END
h10 isp 10.10.10.10 7001 203.0.113.1 7101 $wan 7001 203.0.113.1 7101
h10 isp 2001:db8:10::10 7002 2001:db8:ffff::1 7102 2001:db8:10::10 7002 2001:db8:ffff::1 7102
h10 h20 10.10.10.10 7003 10.10.20.10 7103 10.10.10.10 7003 10.10.20.10 7103
h10 h20 2001:db8:10::10 7004 2001:db8:20::10 7104 2001:db8:10::10 7004 2001:db8:20::10 7104
isp h10 203.0.113.1 7005 $wan 7105 203.0.113.1 7005 10.10.10.10 7205
h11 h10 10.10.10.11 7006 $wan 7106 10.10.10.1 7006 10.10.10.10 7206
END
}
FLOWS=12

# golden_rules: adds port forwards, also from the inside, where both addresses are translated.
golden_rules() {
    # fw4 accepts foreign port forwards only if it has one of its own.
    add_config firewall <<<"$WEB_FORWARD"
    gw "nft -f - <<END
table inet e2e {
    chain dstnat {
        type nat hook prerouting priority dstnat
        ip daddr $(wan_address) meta l4proto { tcp, udp } th dport 7105 dnat to 10.10.10.10:7205
        ip daddr $(wan_address) meta l4proto { tcp, udp } th dport 7106 dnat to 10.10.10.10:7206
    }
    chain srcnat {
        type nat hook postrouting priority srcnat
        ip saddr 10.10.10.0/24 ip daddr 10.10.10.10 ct status dnat snat to 10.10.10.1
    }
}
END"
}

# put STEP HOST PACKET: adds a frame that the host sends in that step.
put() { frame "$2" "$3" >>"$HERE/$2.$1"; }

# carry STEP PROTO HOST BOTH-ENDS LENGTH: adds a data frame, with consecutive sequence numbers.
carry() {
    put "$1" "$3" "$(packet "$2" "${@:4}")"
    SEQ=$((SEQ + $8 - HEADERS)) ID=$((ID + 1))
}

# data STEP PROTO HOST BOTH-ENDS: adds DATA frames of all kinds in one direction.
data() {
    # An empty acknowledgement is shorter than the minimum frame.
    carry "$1.1" "${@:2}" "$EMPTY"
    # DSCP EF with an ECN mark from a queue on the path.
    TOS=187
    carry "$1.2" "${@:2}" 601
    TOS=0
    # Two frames that GRO may merge.
    carry "$1.3" "${@:2}" 1492
    carry "$1.3" "${@:2}" 1492
    TTL=2 FLAGS=18
    carry "$1.4" "${@:2}" 100
    # Only IPv4 allows UDP without a checksum.
    [[ $2 == tcp || $4 == *:* ]] || SUM=none
    TTL=255
    carry "$1.4" "${@:2}" 100
}
DATA=6

# flow tcp|udp INITIATOR RESPONDER ENDS…: adds a flow; ENDS as the initiator, then as the responder
# sees them.
flow() {
    local proto=$1 a=$2 b=$3
    local there=("$4" "$5" "$6" "$7") back=("${10}" "${11}" "$8" "$9")
    local EMPTY=46 HEADERS=40
    [[ $4 != *:* ]] || HEADERS=60
    [ "$proto" = udp ] && EMPTY=$((HEADERS + 6)) || EMPTY=$HEADERS
    local TOS=0 TTL=64 ID=1 FLAGS=02 SEQ=1000 ACK=0 SUM=there
    put 1 "$a" "$(packet "$proto" "${there[@]}" $EMPTY)"
    FLAGS=12 SEQ=5000 ACK=1001
    put 2 "$b" "$(packet "$proto" "${back[@]}" $EMPTY)"
    FLAGS=10 SEQ=1001 ACK=5001
    [ "$proto" = udp ] || put 3 "$a" "$(packet tcp "${there[@]}" $EMPTY)"
    (data 4 "$proto" "$a" "${there[@]}")
    (
        SEQ=5001 ACK=1001
        data 4 "$proto" "$b" "${back[@]}"
    )
    [ "$proto" = tcp ] || return 0
    local total=$((601 + 2 * 1492 + 2 * 100 - 5 * HEADERS))
    FLAGS=11 SEQ=$((1001 + total)) ACK=$((5001 + total))
    put 5 "$a" "$(packet tcp "${there[@]}" $EMPTY)"
    SEQ=$((5001 + total)) ACK=$((1002 + total))
    put 6 "$b" "$(packet tcp "${back[@]}" $EMPTY)"
    FLAGS=10 SEQ=$((1002 + total)) ACK=$((5002 + total))
    put 7 "$a" "$(packet tcp "${there[@]}" $EMPTY)"
}

# write_frames: writes the frames of all flows to files HOST.STEP.LENGTH, because one program can
# send many frames of the same length.
write_frames() {
    local file line flows proto
    rm -rf "$HERE"
    mkdir -p "$HERE"
    flows=$(golden_flows)
    for proto in tcp udp; do
        # shellcheck disable=SC2086 # split on purpose
        while read -r line; do flow $proto $line; done <<<"$flows"
    done
    SENT=$(cat "$HERE"/* | wc -l)
    for file in "$HERE"/*; do
        awk -v file="$file" '{ print >(file "." length($0) / 2) }' "$file"
        rm "$file"
    done
    for file in "$HERE"/*; do
        bytes <"$file" >"$file.new"
        mv "$file.new" "$file"
    done
    tar -C "$HERE" -cf - . | peers "rm -rf $THERE; mkdir -p $THERE; tar -C $THERE -xf -"
}

# send STEP: sends the step's frames from all hosts in parallel.
send() {
    peers "cd $THERE; for host in h10 h11 h20 isp; do
            case \$host in isp) device=access ;; *) device=eth0 ;; esac
            for file in \$host.$1.*; do
                [ ! -f \$file ] ||
                    ip netns exec \$host socat -u -b \${file##*.} FILE:\$file INTERFACE:\$device
            done &
        done; wait"
}

# leave_alone SEGMENTS: makes packets that GRO has merged leave as single frames, segmented in
# software. The driver of a user-mode machine would pass them whole to the other end.
leave_alone() {
    gw "for port in $(lab_port DEVICES); do ip link set \$port gso_max_segs $1; done"
}

# capture: captures the frames that arrive at each host. The peers' kernels do not know these
# connections, and must not answer, drop delayed packets, or merge packets.
capture() {
    leave_alone 1
    peers "cd $THERE; rm -f *.pcap *.log; echo 'table inet e2e
        delete table inet e2e
        table inet e2e {
            chain in {
                type filter hook prerouting priority raw
                th dport 7000-7299 drop
            }
        }' >mute
        for host in h10 h11 h20 isp; do
            case \$host in isp) device=access ;; *) device=eth0 ;; esac
            in=\"ip netns exec \$host\"
            \$in nft -f mute
            \$in tc qdisc replace dev \$device root pfifo
            \$in ethtool -K \$device gro off
            \$in tcpdump --immediate-mode -i \$device -Q in -U -w \$host.pcap 2>\$host.log &
            echo \$! >\$host.pid
        done"
    soon 10 peers "cd $THERE; for host in h10 h11 h20 isp; do grep -q listening \$host.log; done"
}

release() {
    leave_alone 65535
    peers "cd $THERE; for host in h10 h11 h20 isp; do
            case \$host in isp) device=access ;; *) device=eth0 ;; esac
            in=\"ip netns exec \$host\"
            kill \$(cat \$host.pid)
            rm \$host.pid
            \$in ethtool -K \$device gro on
            \$in tc qdisc delete dev \$device root
            \$in nft delete table inet e2e
        done" 2>/dev/null || true
}

# read_frames: prints a line per captured frame: flow, whether its checksums are valid, and its
# bytes up to the end of the IP packet, without padding.
read_frames() {
    local file=$HERE/all.pcap
    # Otherwise tshark would decode padding as a VSS monitoring trailer.
    local read=(tshark -n -r "$file" -Y 'tcp.port in {7000..7299} or udp.port in {7000..7299}'
        -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE
        --disable-protocol vssmonitoring)
    peers "tar -C $THERE -cf - h10.pcap h11.pcap h20.pcap isp.pcap" | tar -C "$HERE" -xf -
    {
        mergecap -a -w "$file" "$HERE"/{h10,h11,h20,isp}.pcap
        "${read[@]}" -T jsonraw -J frame | jq -r '.[]._source.layers.frame_raw[0]' >"$file.digits"
        "${read[@]}" -T fields -E separator=' ' -e frame.protocols -e tcp.srcport -e udp.srcport \
            -e tcp.dstport -e udp.dstport -e ip.len -e ipv6.plen -e ip.checksum.status \
            -e tcp.checksum.status -e udp.checksum.status >"$file.fields"
    } 2>/dev/null
    paste -d ' ' "$file.digits" "$file.fields" | awk '{
        bytes = 14 + 4 * gsub(/vlan/, "&", $2) + 8 * gsub(/pppoes/, "&", $2) + $5
        if ($2 ~ /ipv6/) bytes += 40
        proto = $2 ~ /tcp/ ? "tcp" : "udp"
        # 1: valid, 3: absent.
        verdict = "right"
        for (i = 6; i <= NF; i++)
            if ($i != 1 && !($i == 3 && proto == "udp")) verdict = "wrong"
        print proto, $3, $4, verdict, substr($1, 1, bytes * 2)
    }' | sort -s -k 1,3
}

# arrived NUMBER: succeeds once all hosts together have that many frames.
arrived() {
    local number
    number=$(peers "cd $THERE; for host in h10 h11 h20 isp; do
            tcpdump -tn -r \$host.pcap 2>/dev/null
        done | grep -c '[.]7[0-2]0[1-6]'")
    [ "$number" = "$1" ] || { echo "$number"; return 1; }
}

# tracked NUMBER STATE: succeeds if that many of our connections have the state.
tracked() {
    local lines
    lines=$(gw "{ conntrack -L -f ipv4; conntrack -L -f ipv6; } 2>/dev/null" |
        grep ' sport=700[1-6] ' | sort -u)
    [ "$(grep -c -- "$2" <<<"$lines")" = "$1" ] || { echo "$lines"; return 1; }
}

carried() {
    [ "$(flows --path ebpf | jq -s '[.[] | select(.sport >= 7001 and .sport <= 7006)] |
        length')" = "$FLOWS" ] || { flows; return 1; }
}

# converse [MERGED]: plays all flows from begin to end. MERGED is the number of data frames that GRO
# may merge before the programs.
converse() {
    local before=0 data=$((FLOWS * 2 * DATA))
    gw 'conntrack -F 2>/dev/null'
    capture
    send 1
    soon 5 tracked "$FLOWS" UNREPLIED
    send 2
    soon 5 tracked 0 UNREPLIED
    send 3
    soon 5 tracked $((FLOWS / 2)) ESTABLISHED
    [ $# = 0 ] || {
        soon 5 carried
        before=$(exits forwarded)
    }
    send 4
    soon 10 arrived $((5 * FLOWS / 2 + data))
    send 5
    soon 5 tracked $((FLOWS / 2)) FIN_WAIT
    send 6
    soon 5 tracked $((FLOWS / 2)) LAST_ACK
    send 7
    soon 5 tracked $((FLOWS / 2)) TIME_WAIT
    soon 10 arrived "$SENT"
    release
    [ $# = 0 ] || soon 3 exits_reach forwarded $((before + data - $1))
}

# equal HOOK MERGED: fails unless the programs at that hook send the same frames as without the
# engine.
equal() {
    ebpf_at "$1"
    converse "$2"
    read_frames >"$HERE/$1"
    same "frames with a wrong checksum, $1" "$(grep ' wrong ' "$HERE/$1" | cut -c 1-180)" ""
    diff "$HERE/off" "$HERE/$1" >"$HERE/differences" ||
        fail "with $1: $(head -n 8 "$HERE/differences" | cut -c 1-180)"
}

test_frames_equal_those_of_the_kernel() {
    local host
    knows_macs
    golden_rules
    for host in h10 h11 h20; do
        "$host" 'ping -c 1 -W 2 203.0.113.1; ping -c 1 -W 2 2001:db8:ffff::1' >/dev/null
    done
    write_frames
    trap release EXIT
    gw fastpathctl engine off
    converse
    read_frames >"$HERE/off"
    same "frames that the kernel sent on" "$(wc -l <"$HERE/off")" "$SENT"
    # The hook that the drivers support, before GRO.
    equal auto 0
    # GRO may merge two frames of each direction of a TCP connection.
    equal tcx "$FLOWS"
}
