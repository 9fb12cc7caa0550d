# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # the tests use the names
# Builds frames from hexadecimal digits. Fixed fields make connections comparable; a kernel would
# choose random numbers.

# Fields of the next packets. With SUM=none, UDP has no checksum.
TOS=0 TTL=64 ID=1 FLAGS=10 SEQ=0 ACK=0 SUM=there

digits() {
    local IFS words missing
    case $1 in
        *:*)
            IFS=:
            # Expand "::" to the missing words.
            read -ra words <<<"${1/::/:x:}"
            missing=$((8 - ${#words[@]} + 1))
            for IFS in "${words[@]}"; do
                if [ "$IFS" = x ]; then
                    printf "%0$((missing * 4))d" 0
                else
                    printf '%04x' "$((16#$IFS))"
                fi
            done
            ;;
        *)
            IFS=.
            # shellcheck disable=SC2086 # four arguments
            printf '%02x' $1
            ;;
    esac
}

# sum_of DIGITS: prints the Internet checksum (RFC 1071).
sum_of() {
    local digits=$1 sum=0 at
    [ $((${#digits} % 4)) = 0 ] || digits+=00
    for ((at = 0; at < ${#digits}; at += 4)); do sum=$((sum + 16#${digits:at:4})); done
    while [ $((sum >> 16)) != 0 ]; do sum=$(((sum & 0xffff) + (sum >> 16))); done
    printf '%04x' $((sum ^ 0xffff))
}

# filling NUMBER: prints NUMBER bytes of payload, at most 1500.
filling() { printf "%s" "${FILLING:0:$1 * 2}"; }
FILLING=$(for ((at = 0; at < 1500; at++)); do printf %02x $((at * 7 % 251)); done)

# segment tcp|udp SOURCE-PORT PORT LENGTH ADDRESSES: prints transport header and payload. ADDRESSES
# are the digits of both IP addresses, for the checksum.
segment() {
    local head tail sum number=6
    if [ "$1" = tcp ]; then
        printf -v head '%04x%04x%08x%08x50%sffff' "$2" "$3" "$SEQ" "$ACK" "$FLAGS"
        tail=0000$(filling $(($4 - 20)))
    else
        number=17
        printf -v head '%04x%04x%04x' "$2" "$3" "$4"
        tail=$(filling $(($4 - 8)))
    fi
    sum=0000
    [ "$SUM" = none ] ||
        sum=$(sum_of "$5$(printf '%04x%04x' "$number" "$4")${head}0000$tail")
    [ "$sum$1" != 0000udp ] || [ "$SUM" = none ] || sum=ffff
    printf '%s' "$head$sum$tail"
}

packet() {
    local src dst head number=6
    src=$(digits "$2") dst=$(digits "$4")
    [ "$1" = tcp ] || number=17
    if [[ $2 == *:* ]]; then
        printf '6%02x00000%04x%02x%02x%s' "$TOS" $(($6 - 40)) "$number" "$TTL" "$src$dst"
        segment "$1" "$3" "$5" $(($6 - 40)) "$src$dst"
    else
        printf -v head '45%02x%04x%04x4000%02x%02x' "$TOS" "$6" "$ID" "$TTL" "$number"
        printf '%s' "$head$(sum_of "$head$src$dst")$src$dst"
        segment "$1" "$3" "$5" $(($6 - 20)) "$src$dst"
    fi
}

# frame HOST PACKET: prints the frame from HOST to the gateway, padded to Ethernet's minimum.
frame() {
    local frame type=0800 ppp=0021
    [ "${2:0:1}" = 4 ] || type=86dd ppp=0057
    case $1 in
        isp)
            printf -v frame '%s%s8100002388641100%s%04x%s%s' "${MAC[wan]}" "${MAC[isp]}" \
                "$SESSION" $((${#2} / 2 + 2)) "$ppp" "$2"
            ;;
        h20) frame=${MAC[lan]}${MAC[h20]}81000014$type$2 ;;
        *) frame=${MAC[lan]}${MAC[$1]}$type$2 ;;
    esac
    while [ ${#frame} -lt 120 ]; do frame+=00; done
    printf '%s\n' "$frame"
}

# knows_macs: sets MAC to the MAC address of each host, and SESSION to the PPPoE session id.
knows_macs() {
    local name mac
    declare -gA MAC
    while read -r name mac; do MAC[$name]=${mac//:/}; done < <(
        # shellcheck disable=SC2016 # the machines expand it
        gw 'echo "wan $(cat /sys/class/net/wan/address)"
            echo "lan $(cat /sys/class/net/br-lan/address)"'
        # shellcheck disable=SC2016
        peers 'for host in h10 h11 h20; do
                echo "$host $(ip -n $host -o link show eth0 | sed "s/.*ether //")"
            done
            echo "isp $(ip -n isp -o link show access | sed "s/.*ether //")"' | cut -d ' ' -f 1-2
    )
    printf -v SESSION %04x "$(said '.pppoe[0].session' topology)"
}

# bytes: converts hexadecimal digits to bytes.
bytes() { tr a-f A-F | basenc --base16 -d -i; }
