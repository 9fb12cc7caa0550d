# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# JSON-RPC to the gateway's web server, from the host.

NOBODY=00000000000000000000000000000000

ubus_url() { echo "http://127.0.0.1:$(lab_port GW_HTTP)/ubus"; }

# post BODY: the answer, whatever it is.
post() { curl -sS -m "$(patient 3)" -H 'Content-Type: application/json' -d "$1" "$(ubus_url)"; }

# rpc SESSION OBJECT METHOD ARGUMENTS: the whole answer.
rpc() {
    post "$(jq -nc --arg s "$1" --arg o "$2" --arg m "$3" --argjson a "$4" \
        '{jsonrpc: "2.0", id: 1, method: "call", params: [$s, $o, $m, $a]}')"
}

# session USER PASSWORD: a new one's id, or nothing. rpcd's own `session login` is closed to the
# web.
session() {
    rpc "$NOBODY" fastpath.access login "{\"username\": \"$1\", \"password\": \"$2\"}" |
        jq -r '.result[1].ubus_rpc_session // empty'
}
