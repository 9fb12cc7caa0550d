# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The doctor: its findings, and their fixes.

# examined ID: the doctor's word on one check.
examined() { gw "fastpathctl --json doctor --check $1 || true" | jq -c '.findings[0]'; }

# finds ID SEVERITY [PART]: a finding of that severity, with PART somewhere in it.
finds() {
    local found
    found=$(examined "$1")
    if [ "$(jq -r .severity <<<"$found")" != "$2" ] || [[ $found != *"${3-}"* ]] ||
        ! complete "$found"; then
        echo "$found"
        return 1
    fi
    echo "$1" >>"$RUN/found"
}

# complete FINDING: it has evidence with its source, a consequence, and a remedy.
complete() {
    jq -e '(.evidence | length > 0 and all(.value != "" and .source != "")) and
        .consequence != "" and .remedy != ""' <<<"$1" >/dev/null
}

# well ID: nothing above info.
well() {
    local found
    found=$(examined "$1")
    [[ $(jq -r .severity <<<"$found") =~ ^(ok|info)$ ]] || { echo "$found"; return 1; }
}

# apply_fix ID: its own fix; the output is kept.
apply_fix() { gw fastpathctl doctor --fix "$1" --check "$1" --yes; }

# keep FILE…: as they are now when the test ends, however that is.
keep() {
    gw "rm -rf /run/e2e/kept; mkdir /run/e2e/kept
        tar -C / -cf - ${*#/} | tar -C /run/e2e/kept -xpf -"
    trap "gw cp -a /run/e2e/kept/. /" EXIT
}
kept() { gw cp -a /run/e2e/kept/. /; }

# view "ID…" COMMANDS: the doctor's findings in a view of the files of his own, which COMMANDS make
# (bind is `mount`'s, put writes a text where a file was, fill has /tmp of 100 KiB hold so many
# bytes); nobody else on the gateway sees it.
view() {
    local id checks=
    for id in $1; do checks+=",\"$id\""; done
    gw 'unshare -m sh -e' <<END | jq -c .findings
bind() { busybox mount -o bind "\$1" "\$2"; }
put() { echo "\$2" >"/run/e2e/view\${1##*/}"; bind "/run/e2e/view\${1##*/}" "\$1"; }
# On OpenWrt /run is in /tmp; it stays as it is.
fill() {
    bind /run /mnt
    busybox mount -t tmpfs -o size=100k none /tmp
    [ -d /run/e2e ] || { mkdir /tmp/run; bind /mnt /tmp/run; }
    head -c "\$1" /dev/zero >/tmp/full 2>/dev/null || true
}
$2
exec /usr/libexec/rpcd/fastpath.doctor call run '{"checks": [${checks#,}], "sample_ms": 2000}'
END
}

# is FINDINGS ID SEVERITY [PART]: with evidence and a remedy, unless it is ok.
is() {
    local found
    found=$(jq -c --arg id "$2" '.[] | select(.id == $id)' <<<"$1")
    same "severity of $2 in $found" "$(jq -r .severity <<<"$found")" "$3"
    has "the finding" "$found" "${4-}"
    [ "$3" = ok ] && return
    complete "$found" || fail "parts lack: $found"
    echo "$2" >>"$RUN/found"
}
