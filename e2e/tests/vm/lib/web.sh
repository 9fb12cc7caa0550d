# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# JSON-RPC calls to the gateway's web server.

NOBODY=00000000000000000000000000000000

ubus_url() { echo "http://127.0.0.1:$(lab_port GW_HTTP)/ubus"; }

# post REQUEST: prints the answer.
post() { curl -sS -m "$(patient 3)" -H 'Content-Type: application/json' -d "$1" "$(ubus_url)"; }

# rpc SESSION OBJECT METHOD ARGUMENTS: prints the JSON-RPC answer.
rpc() {
    post "$(jq -nc --arg s "$1" --arg o "$2" --arg m "$3" --argjson a "$4" \
        '{jsonrpc: "2.0", id: 1, method: "call", params: [$s, $o, $m, $a]}')"
}

# log_in USER PASSWORD [BROWSER]: logs in with a nonce and a browser token; prints the answer.
log_in() {
    local nonce
    nonce=$(rpc "$NOBODY" fastpath.access begin '{}' | jq -r '.result[1].nonce // empty')
    rpc "$NOBODY" fastpath.access login "$(
        jq -nc --arg u "$1" --arg p "$2" --arg b "${3-}" --arg n "$nonce" \
            '{username: $u, password: $p, browser: $b, nonce: $n}'
    )"
}

# session USER PASSWORD: logs in and prints the session id, if any. rpcd's `session login` is not
# accessible over the web.
session() { log_in "$1" "$2" | jq -r '.result[1].ubus_rpc_session // empty'; }
