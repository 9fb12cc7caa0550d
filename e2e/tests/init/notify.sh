# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests of fastpath-notify's messages, sourced by `inside`.
MESSAGES=/usr/libexec/fastpath/notify.awk

# compose FORMAT CURSOR: as notify.sh does.
compose() {
    awk -v cursor="$2" 'NR == 1 || $1 > cursor' /tmp/journal |
        awk -v cursor="$2" -v events= -v format="$1" -v host=router -v out=/tmp/message -f $MESSAGES
}

# ntfy answers 400 to a longer message, which would then block its receiver.
test_long_names_fit_into_the_4096_bytes_of_a_message() {
    name=$(printf '😀%.0s' $(seq 63))
    { echo 0 && for id in $(seq 40); do
        printf '%s\t1796029453000\tnew-device\t02:11:22:33:44:55\t%s\n' "$id" "$name"
    done; } >/tmp/journal
    cursor=0 told=0
    while [ "$cursor" -lt 40 ]; do
        # shellcheck disable=SC2046 # four words
        set -- $(compose ntfy "$cursor")
        [ "$2" -gt 0 ] || fail "no event after $cursor"
        [ "$3 $4" = "$((40 - told - $2)) 0" ] || fail "events that wait, and lost ones: $3 $4"
        [ "$(wc -c </tmp/message)" -le 4096 ] || fail "a message has $(wc -c </tmp/message) bytes"
        cursor=$1 told=$((told + $2))
    done
    [ "$told" = 40 ] || fail "$told events"
}
