# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Changes of the configuration: apply, confirm, roll back, access rights, refusals.

# shellcheck source=e2e/tests/vm/lib/changes.sh
. "$VM/lib/changes.sh"

noted() { gw 'cat /var/log/*.log /var/log/messages 2>/dev/null; logread 2>/dev/null; true'; }

# @core
test_a_change_is_confirmed_and_undone() {
    local root id answer before
    keep
    root=$(session root fastpath)
    before=$(said_of "$root")
    answer=$(change "$root" get '{"configs": ["network", "firewall", "nothing"]}')
    same "a file that may not be read" "$(jq -r .error.code <<<"$answer")" argument
    schema get "$(change "$root" get '{"configs": ["network", "firewall"]}')"
    answer=$(change "$root" check "$(with "$(guest 30)")")
    schema check "$answer"
    same problems "$(jq -c .problems <<<"$answer")" '[]'
    unchanged || fail "checking changed something"
    answer=$(change "$root" apply "$(with "$(guest 30)" '{"seconds": 60, "note": "guests"}')")
    schema apply "$answer"
    id=$(jq -r .id <<<"$answer")
    soon 60 gw 'ip -4 addr show br-lan.30 | grep 10.10.30.1'
    schema list "$(change "$root" list '{}')"
    waits "$root" "$id" || fail "it does not wait"
    schema confirm "$(change "$root" confirm "{\"id\": $id}")"
    state_is "$root" "$id" confirmed || fail "it is not confirmed: $(change "$root" list '{}')"
    refusal gone "$root" confirm "{\"id\": $id}"
    answer=$(change "$root" undo "{\"id\": $id}")
    schema undo "$answer"
    id=$(applied "$root" "$(jq -c .edits <<<"$answer")")
    change "$root" confirm "{\"id\": $id}" >/dev/null
    soon 60 gw '! ip link show br-lan.30'
    same "the files" "$(said_of "$root")" "$before"
    internet || fail "no Internet access any more"
}

# A service that reloads while a file is copied in place reads half of it.
file_of() { gw ls -i "/etc/config/$1"; }

# @core
# @fault:browser-closed
test_an_unconfirmed_change_expires_and_is_rolled_back() {
    local root id file
    keep
    root=$(session root fastpath)
    id=$(applied "$root" "$(guest 31)" '{"seconds": 5}')
    if unchanged >/dev/null; then fail "nothing was applied"; fi
    file=$(file_of network)
    soon 12 unchanged
    [ "$(file_of network)" != "$file" ] || fail "the file was copied in place"
    soon 12 state_is "$root" "$id" expired
    refusal gone "$root" confirm "{\"id\": $id}"
    same "how it ended" "$(jq -r .error.state <<<"$ANSWER")" expired
    id=$(applied "$root" "$(guest 32)" '{"seconds": 60}')
    file=$(file_of network)
    change "$root" revert "{\"id\": $id}" >/dev/null
    unchanged || fail "not as before"
    [ "$(file_of network)" != "$file" ] || fail "the file was copied in place"
    state_is "$root" "$id" reverted || fail "it is not reverted"
    soon 60 gw '! ip link show br-lan.31 && ! ip link show br-lan.32'
}

# @fault:two-administrators
test_only_one_of_two_administrators_can_apply() {
    local first second id
    keep
    first=$(session root fastpath)
    second=$(session root fastpath)
    id=$(applied "$first" "$(guest 30)" '{"seconds": 60}')
    refusal pending "$second" apply "$(with "$(guest 33)")"
    same who "$(jq -r .error.user <<<"$ANSWER")" root
    between "since when" "$(jq -r .error.left_s <<<"$ANSWER")" 30 60
    # Another session of the same user can confirm after the first session has ended.
    rpc "$first" session destroy '{}' >/dev/null
    waits "$second" "$id" || fail "the change went with the session"
    change "$second" revert "{\"id\": $id}" >/dev/null
    unchanged || fail "not as before"
    first=$(session root fastpath)
    change "$first" apply "$(with "$(guest 30)" '{"seconds": 30}')" >"$RUN/change.1" &
    change "$second" apply "$(with "$(guest 33)" '{"seconds": 30}')" >"$RUN/change.2" &
    wait %% && wait
    same "who was applied" "$(jq -rs 'map(.id // .error.code) | map(type) | sort | join(" ")' \
        "$RUN/change.1" "$RUN/change.2")" "number string"
    same "the refusal of the other" "$(jq -rs 'map(.error.code // empty) | join(" ")' \
        "$RUN/change.1" "$RUN/change.2")" pending
    id=$(jq -rs 'map(.id // empty)[0]' "$RUN/change.1" "$RUN/change.2")
    change "$second" revert "{\"id\": $id}" >/dev/null
    unchanged || fail "not as before"
}

# @core
# @fault:viewer-writes
# @fault:secrets-requested
test_a_viewer_cannot_change_anything() {
    local viewer method answer
    keep
    viewer=$(session viewer look)
    for method in apply check confirm revert undo; do
        answer=$(rpc "$viewer" fastpath.change "$method" "$(with "$(guest 30)" '{"id": 1}')")
        same "$method by a viewer" "$(jq -c .error.code <<<"$answer")" -32002
        answer=$(rpc "$NOBODY" fastpath.change "$method" '{}')
        same "$method by nobody" "$(jq -c .error.code <<<"$answer")" -32002
    done
    # Rule source URLs contain passwords. fastpath.change masks them; `uci get` would not.
    answer=$(rpc "$viewer" uci get '{"config": "fastpath"}')
    same "uci get by a viewer" "$(jq -c .error.code <<<"$answer")" -32002
    for method in add set delete order apply confirm rollback revert commit; do
        answer=$(rpc "$viewer" uci "$method" \
            '{"config": "network", "section": "lan", "values": {}}')
        same "uci $method by a viewer" "$(jq -c .error.code <<<"$answer")" -32002
    done
    unchanged || fail "a viewer changed something"
}

reading() {
    jq -nc --arg k "$1" --argjson v "$2" \
        '[{config: "firewall", op: "add", type: $k, section: "reading", values: $v}]'
}

# nft cannot parse the marker and would quote it in an error message.
# @core
# @fault:check-reads-files
test_a_check_reveals_no_contents_of_files() {
    local root viewer session edits answer mark=root:marker-of-the-lab:19000:0:99999:7:::
    keep
    gw "umask 077; echo '$mark' >/etc/marked"
    root=$(session root fastpath)
    viewer=$(session viewer look)
    for edits in "$(reading include '{"type": "nftables", "path": "/etc/marked"}')" \
        "$(reading ipset '{"name": "reading", "match": "src_ip", "loadfile": "/etc/marked"}')" \
        "$(reading ipset '{"name": "reading", "match": "src_ip", "loadfile": "/dev/zero"}')" \
        "$(reading helper '{"name": "x", "module": "/etc/marked"}')"; do
        for session in "$viewer" "$root"; do
            answer=$(rpc "$session" fastpath.change check "$(with "$edits")")
            lacks "the answer to $edits" "$answer" 'marker'
            if [ "$session" = "$viewer" ]; then
                same "a viewer's check" "$(jq -c .error.code <<<"$answer")" -32002
            else
                same "problem of $edits" \
                    "$(jq -r '.result[1].problems[0].code' <<<"$answer")" reads-file
            fi
        done
        refusal invalid "$root" apply "$(with "$edits")"
        lacks "the answer to $edits" "$ANSWER" 'marker'
    done
    lacks "the log" "$(noted)" 'marker'
    # An existing include may be invalid, too; the answer must not quote it.
    gw "printf 'config include\n\toption type nftables\n\toption path /etc/marked\n' \
        >>/etc/config/firewall"
    answer=$(change "$root" check "$(with "$(guest 30)")")
    lacks "the answer" "$answer" 'marker'
    lacks "the log" "$(noted)" 'marker'
    gw 'cp /run/e2e/kept/firewall /etc/config/firewall; rm /etc/marked'
    same "running processes" "$(pids fw4 || true)" ""
    unchanged || fail "a check changed something"
}

# uci ignores folders in /etc/config, which a backup may leave behind.
# @fault:folder-in-config
test_a_folder_in_etc_config_does_not_bypass_the_check_of_rules() {
    local answer
    keep
    ROOT=$(session root fastpath)
    gw 'mkdir /etc/config/old'
    answer=$(change "$ROOT" check "$(with "$NO_RULE")")
    gw 'rmdir /etc/config/old'
    same "problem" "$(jq -r '.problems[0].code' <<<"$answer")" fw4-families
    lacks "its text" "$answer" stdin
    unchanged || fail "it was applied"
}

# @fault:secrets-requested
test_secrets_are_masked_and_restored() {
    local root id answer secret old word="Gr31f-n1cht" new="Zw3it-W0rt"
    keep
    root=$(session root fastpath)
    id=$(applied "$root" "$(edited iot "{\"password\": \"$word\"}")")
    change "$root" confirm "{\"id\": $id}" >/dev/null
    has "the file" "$(gw cat /etc/config/network)" "$word"
    id=$(applied "$root" "$(edited iot "{\"password\": \"$new\", \"metric\": \"5\"}")")
    change "$root" confirm "{\"id\": $id}" >/dev/null
    answer=$(change "$root" undo "{\"id\": $id}")
    has "the edits" "$answer" "•••$id"
    answer+=$(change "$root" list '{}')$(change "$root" get '{"configs": ["network", "rpcd"]}')
    answer+=$(change "$root" check "$(with "$(edited iot '{"password": "x"}')")")
    answer+=$(change "$(session viewer look)" get '{"configs": ["network"]}')
    has "the answer" "$answer" '•••'
    old=$(gw "sed -n \"s/.*password '\\(.*\\)'/\\1/p\" /run/e2e/kept/network")
    for secret in "$word" "$new" "$old"; do
        lacks "an answer" "$answer" "\"$secret\""
        lacks "the log" "$(noted)" "'$secret'"
        same "readable for others" "$(gw "find /etc/fastpath /var/run/fastpath-change \
            -perm /077 2>/dev/null | grep changes; true")" ""
    done
    # The edits of an undo contain masked secrets, which apply restores.
    id=$(applied "$root" "$(change "$root" undo "{\"id\": $id}" | jq -c .edits)")
    change "$root" confirm "{\"id\": $id}" >/dev/null
    has "the file" "$(gw cat /etc/config/network)" "$word"
    gw 'cp /run/e2e/kept/network /etc/config/network'
}

# fw4 ignores this rule, because its family contradicts its address.
NO_RULE='[{"config": "firewall", "op": "add", "type": "rule", "id": "rule", "values": {"name": "x",
    "src": "lan", "family": "ipv4", "src_ip": "2001:db8::1", "target": "ACCEPT"}}]'

bad() {
    refusal invalid "$ROOT" apply "$(with "$2")"
    same "problem of $2" "$(jq -r '.error.problems[0].code' <<<"$ANSWER")" "$1"
    unchanged || fail "the refused change changed something: $2"
}

# @fault:vlan-number @fault:vlan-twice @fault:pvid-twice @fault:pppoe-name-long
# @fault:pppoe-name-quotes @fault:pppoe-name-newlines @fault:pppoe-name-unicode
# @fault:address-collides
test_bad_input_changes_nothing() {
    local long newline vlan
    keep
    ROOT=$(session root fastpath)
    for vlan in 0 4095 x; do bad vlan-range "$(guest "$vlan" | jq -c '[.[0]]')"; done
    bad vlan-duplicate "$(guest 10 | jq -c '[.[0]]')"
    bad pvid-twice "$(guest 30 | jq -c '.[0].values.ports = ["lan1:u*"] | [.[0]]')"
    bad address-collides "$(edited iot '{"ipaddr": ["10.10.10.9/24"]}')"
    long=$(printf 'n%.0s' {1..500})
    bad too-long "$(edited wan "{\"username\": \"$long\"}")"
    newline=$(edited wan '{"username": "a\noption password x"}')
    bad control "$newline"
    bad unknown-interface "$(guest 30 | jq -c '[.[2]]')"
    local forward='[{"config": "firewall", "op": "add", "type": "redirect", "id": "forward",
        "values": {"target": "DNAT", "proto": "tcp", "src": "wan", "dest": "lan"}}]'
    bad forward-host "$forward"
    same "where" "$(jq -r '.error.problems[0] | .section + "." + .option' <<<"$ANSWER")" \
        forward.dest_ip
    bad value "$(jq -c '.[0].values += {dest_ip: "10.10.10.10", proto: "nosuch"}' <<<"$forward")"
    bad fw4-families "$NO_RULE"
    lacks "the answer" "$ANSWER" "restricted"
    same "where" "$(jq -r '.error.problems[0].section' <<<"$ANSWER")" rule
    bad not-listed "$(edited main '{"engine": "warp"}' fastpath)"
    same "the daemon's problem" "$(jq -r '.error.problems[0].option' <<<"$ANSWER")" engine
    refusal argument "$ROOT" apply \
        '{"edits": [{"config": "../shadow", "op": "delete", "section": "a"}]}'
    refusal argument "$ROOT" apply '{"edits": 7}'
    refusal argument "$ROOT" apply '{}'
    refusal edit "$ROOT" apply "$(with "$(edited dmz '{"a": "b"}')")"
    refusal gone "$ROOT" undo '{"id": 999999}'
    unchanged || fail "something was changed"
    # Quotes and Unicode are valid and must be stored unchanged.
    local id name="it's \"ümläut\" \\\\ #1; \$(reboot)"
    id=$(applied "$ROOT" "$(jq -nc --arg n "$name" '[{config: "network", op: "set", section: "iot",
        values: {service: $n}}]')" '{"seconds": 30}')
    same "the value" "$(change "$ROOT" get '{"configs": ["network"]}' |
        jq -r '.configs.network[] | select(.section == "iot").values.service')" "$name"
    change "$ROOT" revert "{\"id\": $id}" >/dev/null
    unchanged || fail "not as before"
}

# asked_by_h10 METHOD ARGUMENTS: calls fastpath.change as an administrator at h10 (VLAN 10, lan1).
asked_by_h10() {
    local body
    body=$(jq -nc --arg s "$ROOT" --arg m "$1" --argjson a "$2" '{jsonrpc: "2.0", id: 1,
        method: "call", params: [$s, "fastpath.change", $m, $a]}')
    # Quote for the host's shell.
    h10 curl -sS -m "$(patient 3)" -d "'$body'" http://10.10.10.1/ubus | jq -c '.result[1] // .error'
}

reaches() { h10 curl -s -m 2 -o /dev/null http://10.10.10.1/ubus; }

# @fault:own-vlan-taken
test_a_change_that_disconnects_its_administrator_is_rolled_back() {
    local answer edits id vlan
    keep
    ROOT=$(session root fastpath)
    vlan=$(change "$ROOT" get '{"configs": ["network"]}' |
        jq -r '.configs.network[] | select(.values.vlan == "10").section')
    edits=$(with "$(edited "$vlan" '{"ports": ["lan3:u*"]}')" \
        '{"via": "10.10.10.1", "seconds": 25}')
    answer=$(asked_by_h10 check "$(jq -c 'del(.seconds)' <<<"$edits")")
    same "the cut" "$(jq -r '.cuts[] | .code + " " + .params.port' <<<"$answer")" "port lan1"
    answer=$(asked_by_h10 apply "$edits")
    same "without being sure" "$(jq -r .error.code <<<"$answer")" cuts
    unchanged || fail "it was applied all the same"
    # A change of another host's port does not disconnect the caller.
    answer=$(asked_by_h10 check "$(with "$(edited "$vlan" '{"ports": ["lan1:u*"]}')" \
        '{"via": "10.10.10.1"}')")
    same "no cut" "$(jq -c .cuts <<<"$answer")" '[]'
    answer=$(asked_by_h10 apply "$(jq -c '.cut_ok = true' <<<"$edits")")
    id=$(jq -er .id <<<"$answer") || fail "not applied: $answer"
    soon 24 eval "! reaches"
    soon 60 reaches
    state_is "$ROOT" "$id" expired || fail "it was not rolled back: $(change "$ROOT" list '{}')"
    unchanged || fail "not as before"
}

# @fault:rpcd-restarted
test_a_pending_change_expires_after_a_restart_of_rpcd() {
    local root id
    # Skip before applying, because a skip leaves changes pending.
    ! gw 'grep -qx procd /proc/1/comm' || skip "rpcd and uhttpd of OpenWrt do not outlive ubusd"
    keep
    root=$(session root fastpath)
    id=$(applied "$root" "$(guest 30)" '{"seconds": 6}')
    # rpcd loses its timer, but the process that watches the change survives.
    restart_broker
    soon 60 unchanged
    soon 60 answers_again
    root=$(session root fastpath)
    soon 30 state_is "$root" "$id" expired
}

# @fault:power-cut
test_a_power_cut_rolls_back_a_pending_change() {
    local root id
    keep
    keep_over_power
    root=$(session root fastpath)
    id=$(applied "$root" "$(guest 30)" '{"seconds": 600}')
    has "the new configuration" "$(gw cat /etc/config/network)" 10.10.30.1
    cycle_power || return
    unchanged || fail "the configuration from before is not back"
    if gw ip link show br-lan.30; then fail "the network was made from the other one"; fi
    soon 20 answers_again
    root=$(session root fastpath)
    state_is "$root" "$id" power-cut || fail "not noted: $(change "$root" list '{}')"
    # Boot reverts the change before logd has read the kernel log.
    has "the log" "$(gw dmesg)" "fastpath-change: change $id of root: power-cut"
    good_state
}

test_a_confirmed_change_survives_a_power_cut() {
    local root id
    keep
    keep_over_power
    root=$(session root fastpath)
    id=$(applied "$root" "$(guest 30)" '{"seconds": 600}')
    same "how it ended" "$(change "$root" confirm "{\"id\": $id}" | jq -r .state)" confirmed
    cycle_power || return
    has "the configuration that was confirmed" "$(gw cat /etc/config/network)" 10.10.30.1
    gw '! test -e /etc/fastpath/changes/pending.json' || fail "it still waits"
    soon 20 answers_again
    root=$(session root fastpath)
    state_is "$root" "$id" confirmed || fail "not kept: $(change "$root" list '{}')"
    id=$(applied "$root" "$(change "$root" undo "{\"id\": $id}" | jq -c .edits)")
    change "$root" confirm "{\"id\": $id}" >/dev/null
    soon 60 gw '! ip link show br-lan.30'
    gw 'cp /run/e2e/kept/* /etc/config/'
    good_state
}

open_wan() {
    local zone
    zone=$(change "$ROOT" get '{"configs": ["firewall"]}' |
        jq -r '.configs.firewall[] | select(.type == "zone" and .values.name == "wan").section')
    edited "$zone" '{"input": "ACCEPT"}' firewall
}

test_an_exposure_to_the_internet_needs_consent_by_name() {
    local answer edits id names
    keep
    ROOT=$(session root fastpath)
    edits=$(open_wan)
    answer=$(change "$ROOT" check "$(with "$edits")")
    schema check "$answer"
    same "exposures" "$(jq -r '.exposes[] | .code + " " + .zone + " " + .to' <<<"$answer")" \
        "input wan "
    for names in null '[]' '["lan"]'; do
        refusal exposes "$ROOT" apply "$(with "$edits" "{\"accept_exposure\": $names}")"
        same "exposures" "$(jq -r '.error.exposes[0].zone' <<<"$ANSWER")" wan
    done
    refusal argument "$ROOT" apply "$(with "$edits" '{"accept_exposure": [7]}')"
    unchanged || fail "it was applied all the same"
    id=$(applied "$ROOT" "$edits" '{"accept_exposure": ["wan"], "seconds": 60}')
    change "$ROOT" revert "{\"id\": $id}" >/dev/null
    unchanged || fail "not as before"
}

# reaches_page: succeeds if h20, whose zone may not reach the router, reaches the page.
reaches_page() { h20 curl -s -m 2 -o /dev/null http://10.10.20.1:8099/; }

test_a_redirect_to_the_router_is_reported_as_an_exposure() {
    local id edits='[{"config": "firewall", "op": "add", "type": "redirect", "id": "here",
        "values": {"name": "here", "src": "iot", "proto": "tcp", "src_dport": "8099",
            "dest_port": "80", "dest_ip": "10.10.20.1"}}]'
    keep
    ROOT=$(session root fastpath)
    ! reaches_page || fail "the page is open without the redirect"
    for edits in "$edits" "$(jq -c 'del(.[].values.dest_ip)' <<<"$edits")"; do
        id=$(applied "$ROOT" "$edits" '{"seconds": 60}')
        soon 20 reaches_page
        change "$ROOT" revert "{\"id\": $id}" >/dev/null
        unchanged || fail "not as before"
    done
}

in_force() { [ "$(change "$1" pending '{}' | jq -r .pending.in_force)" = "$2" ]; }

test_a_pending_change_reports_whether_it_is_in_force() {
    local id change
    # Restore fw4's state file even after a failure: without it, fw4 refuses every reload.
    trap 'gw "[ ! -e /run/e2e/fw4.state ] || mv /run/e2e/fw4.state /var/run/fw4.state"' EXIT
    id=$(session root fastpath)
    change=$(applied "$id" "$(guest 30)" '{"seconds": 600}')
    soon 20 in_force "$id" true
    gw bridge vlan del dev lan3 vid 30
    soon 5 in_force "$id" false
    gw bridge vlan add dev lan3 vid 30
    soon 5 in_force "$id" true
    gw touch -d @1000000000 /var/run/fw4.state
    soon 5 in_force "$id" false
    gw mv /var/run/fw4.state /run/e2e/fw4.state
    soon 5 in_force "$id" null
    gw mv /run/e2e/fw4.state /var/run/fw4.state
    change "$id" revert "{\"id\": $change}" >/dev/null
}

# A corrupt record is reported and moved aside.
# @fault:record-broken
test_a_broken_record_does_not_block_later_changes() {
    local root id
    root=$(session root fastpath)
    gw 'umask 077 && mkdir -p /etc/fastpath/changes && cd /etc/fastpath/changes &&
        echo "{" >pending.json &&
        /usr/libexec/fastpath-rpcd boot && grep -x "{" pending.broken && echo "[" >pending.json'
    id=$(applied "$root" "$(edited lan '{"metric": "7"}')")
    change "$root" revert "{\"id\": $id}" >/dev/null
    state_is "$root" "$id" reverted || fail "it is not reverted: $(change "$root" list '{}')"
    same "the file moved aside" "$(gw cat /etc/fastpath/changes/pending.broken)" "["
    has "the log" "$(noted)" "pending.json is not a record of a change"
    has "the log" "$(noted)" "change $id of root: network.lan.metric: '7' instead of nothing"
    lacks "the log" "$(noted | sed 's/ *$/;/')" "fastpath-change:;"
}
