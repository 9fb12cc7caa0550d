# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Provides the verbs of the lab and the VM tests to browser tests: bash -c '. verbs.sh; "$@"'.
TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VM=$TESTS/vm
# shellcheck source=e2e/lab/verbs.sh
. "$TESTS/../lab/verbs.sh"
for part in pace expect gateway traffic crowd web ips archives iptv; do
    # shellcheck source=/dev/null
    . "$VM/lib/$part.sh"
done

# eve_line LINE: appends a line to the EVE log as Suricata would.
eve_line() { printf '%s\n' "$1" | feed; }

free_port() {
    local port
    while port=$((20000 + RANDOM % 20000)); do
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}

# seen_from_h10 ADDRESS: prints a local port that is forwarded through h10 to the page.
seen_from_h10() {
    local port ssh
    port=$(free_port)
    begin h10 page "exec socat UNIX-LISTEN:/tmp/e2e/page.sock,fork,unlink-early TCP:$1:80"
    wait_for 10 peers '[ -S /tmp/e2e/page.sock ]'
    ssh=$(lab_port PEERS_SSH)
    ssh -q -O forward -o ControlPath="$(control_path "$ssh")" -p "$ssh" \
        -L "127.0.0.1:$port:/tmp/e2e/page.sock" root@127.0.0.1
    echo "$port"
}
