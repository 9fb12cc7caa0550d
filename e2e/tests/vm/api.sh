# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The API over HTTP (JSON-RPC).

code() { jq -c '.error.code // .result[0]' <<<"$1"; }

guess() { log_in viewer "$2" "$1"; }

# @fault:owner-kept-out
test_a_known_browser_can_log_in_despite_guesses_of_others() {
    local token
    gw rm -f /var/run/fastpath-access.json
    token=$(guess "" look | jq -r '.result[1].browser')
    same "length of its token" "${#token}" 66
    # Twenty failed logins delay other browsers by a minute.
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'read -r up _ </proc/uptime
        echo "{\"accounts\": {\"viewer\": {\"failures\": 20, \"last_ms\": ${up%.*}000}}}" \
            >/var/run/fastpath-access.json'
    has "the answer to others" "$(guess "" look)" '"wait"'
    has "the answer to a wrong password" "$(guess "$token" wrong)" '"denied"'
    has "the answer to the owner" "$(guess "$token" look)" ubus_rpc_session
    has "the answer to others afterwards" "$(guess "" look)" '"wait"'
    gw rm -f /var/run/fastpath-access.json
}

# @core
test_the_documented_first_call_works() {
    local script
    # shellcheck disable=SC2016 # a fence of Markdown
    script=$(sed -n '/^```sh$/,/^```$/p' "$TOP/docs/API.md" | sed '/^```/d')
    has "its first line" "$script" 'router=http://192.168.1.1 user=root password=secret'
    script=${script/http:\/\/192.168.1.1/http:\/\/127.0.0.1:$(lab_port GW_HTTP)}
    script=${script/password=secret/password=fastpath}
    has "the answer" "$(bash -euo pipefail -c "$script")" '"result":[0,{' '"engine"'
}

# @core
test_login() {
    local answer
    answer=$(rpc "$NOBODY" fastpath.access login '{"username": "root", "password": "wrong"}')
    same "code without a nonce" "$(jq -r '.result[1].error.code' <<<"$answer")" nonce
    answer=$(log_in root wrong)
    same "code of a bad login" "$(jq -r '.result[1].error.code' <<<"$answer")" denied
    answer=$(rpc "$NOBODY" session login '{"username": "root", "password": "fastpath"}')
    same "code of rpcd's own login" "$(code "$answer")" -32002
    answer=$(rpc "$NOBODY" fastpath status '{}')
    same "code for nobody" "$(code "$answer")" -32002
    answer=$(rpc 00000000000000000000000000000001 fastpath status '{}')
    same "code for an unknown session" "$(code "$answer")" -32002
    [ "$(session root fastpath | wc -c)" = 33 ] || fail "no session for root"
}

test_methods_are_listed_and_can_be_called() {
    local id answer methods
    id=$(session root fastpath)
    answer=$(post '{"jsonrpc": "2.0", "id": 1, "method": "list", "params": ["fastpath"]}')
    methods=$(jq -r '.result.fastpath | keys | join(" ")' <<<"$answer")
    for method in engine flow flows history status top topology; do
        has "the list" " $methods " " $method "
    done
    same version "$(rpc "$id" fastpath status '{}' | jq -r '.result[1].version')" \
        "$(gw fastpathd --version | cut -d ' ' -f 2)"
    # The access check comes before the lookup of the method.
    same "code of a method that is not there" "$(code "$(rpc "$id" fastpath fly '{}')")" -32002
    same "code of a flow that is gone" "$(code "$(rpc "$id" fastpath flow '{"id": 1}')")" 4
}

# @core
test_viewer_may_only_read() {
    local id
    id=$(session viewer look)
    same "status for the viewer" "$(code "$(rpc "$id" fastpath status '{}')")" 0
    same "engine for the viewer" "$(code "$(rpc "$id" fastpath engine '{"set": "off"}')")" -32002
    engine_is flowtable || fail "the viewer switched the engine"
    id=$(session root fastpath)
    same "engine for root" "$(code "$(rpc "$id" fastpath engine '{"set": "flowtable"}')")" 0
}

test_wrong_arguments_are_rejected() {
    local id args
    id=$(session root fastpath)
    while read -r method args; do
        same "$method $args" "$(code "$(rpc "$id" fastpath "$method" "$args")")" 2
    done <<'END'
flows {"limit": "many"}
flows {"limit": 0}
flows {"limit": 501}
flows {"offset": -1}
flows {"filter": "slow"}
flows {"filter": {"path": ["fast"]}}
flows {"filter": {"colour": "red"}}
flows {"sort": "beauty"}
flows {"group": "planet"}
flow {}
flow {"id": "first"}
top {"by": "moon"}
top {"limit": 101}
history {"series": "rain"}
history {"step_s": 7}
engine {}
engine {"set": "warp"}
engine {"set": 1}
engine {"set": "off", "persist": "yes"}
status {"surplus": 1}
END
    engine_is flowtable || fail "a wrong argument switched the engine"
}

test_oversized_bodies_are_rejected() {
    local id padding answer
    id=$(session root fastpath)
    padding=$(head -c 65000 /dev/zero | tr '\0' x)
    answer=$(rpc "$id" fastpath flows "{\"filter\": {\"text\": \"$padding\"}}")
    same "a text of 65,000 characters" "$(code "$answer")" 2
    answer=$(post "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"call\",
        \"params\": [\"$padding$padding\"]}")
    same "a body over 64 KiB" "$(code "$answer")" -32700
    same "invalid JSON" "$(code "$(post '{')")" -32700
    same "status afterwards" "$(code "$(rpc "$id" fastpath status '{}')")" 0
}

test_a_hundred_parallel_clients_are_answered() {
    local id body words
    id=$(session root fastpath)
    body="{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"call\",
        \"params\":[\"$id\",\"fastpath\",\"flows\",{}]}"
    # curl exits with status 28 on a timeout.
    # shellcheck disable=SC2016 # expanded by the inner shell
    words=$(seq 100 | xargs -P 100 -I '{}' sh -c 'got=$(curl -s -o /dev/null -m "$3" \
        -w "%{http_code}" -H "Content-Type: application/json" -d "$1" "$2"); echo "$got $?"' \
        _ "$body" "$(ubus_url)" "$(patient 5)" | sort | uniq -c)
    note "100 clients: $(echo "$words" | xargs) (number, HTTP status, curl's exit)"
    lacks "the outcome" "$words" " 28"
    has "the outcome" "$words" "200 0"
    same "status afterwards" "$(code "$(rpc "$id" fastpath status '{}')")" 0
}

# @timed
test_event_stream_ticks_once_a_second() {
    local ticks
    ticks=$(gw_during 8 'ubus subscribe fastpath' | jq -sc '[.[].tick | values | .now_ms]')
    between "ticks in 8 s" "$(jq length <<<"$ticks")" 5 9
    # Uses the gateway's clock, because the machine may run slowly.
    between "milliseconds from the first tick to the last, for each step" \
        "$(jq '(last - first) / (length - 1)' <<<"$ticks")" 900 1250
}

# uhttpd leaks the connection of each subscriber that disconnects, so nobody may subscribe.
# @core
# @fault:subscription-over-http
test_subscriptions_over_http_are_denied() {
    local id text
    for id in "$(session root fastpath)" "$(session viewer look)" "$NOBODY"; do
        text=$(curl -s -m "$(patient 3)" -H "Authorization: Bearer $id" \
            "$(ubus_url)/subscribe/fastpath" || true)
        same "the answer to a subscription" "$(jq -c .code <<<"$text")" -13
    done
}

# @core
test_every_answer_matches_its_schema() {
    local port
    [ -d "$VM/../../node_modules/ajv" ] || skip "the npm packages of e2e/ are not installed"
    port=$(fresh_port)
    download h10 "$port" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$port"
    node "$VM/schema.mjs" "$(ubus_url)" "$(session root fastpath)" \
        "$TOP/feeds/fastpathd/src/schema" \
        "$(gw_during 5 'ubus subscribe fastpath' | jq -c '.tick | values' | head -n 1)"
}
