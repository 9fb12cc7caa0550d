# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Findings and fixes of the doctor.

examined() { gw "fastpathctl --json doctor --check $1 || true" | jq -c '.findings[0]'; }

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

# complete FINDING: succeeds if evidence, consequence and remedy are present.
complete() {
    jq -e '(.evidence | length > 0 and all(.value != "" and .source != "")) and
        .consequence != "" and .remedy != ""' <<<"$1" >/dev/null
}

# well ID: succeeds if the severity is at most info.
well() {
    local found
    found=$(examined "$1")
    [[ $(jq -r .severity <<<"$found") =~ ^(ok|info)$ ]] || { echo "$found"; return 1; }
}

apply_fix() { gw fastpathctl doctor --fix "$1" --check "$1" --yes; }

# keep FILE…: restores these files when the test ends.
keep() {
    gw "rm -rf /run/e2e/kept; mkdir /run/e2e/kept
        tar -C / -cf - ${*#/} | tar -C /run/e2e/kept -xpf -"
    trap "gw cp -a /run/e2e/kept/. /" EXIT
}
kept() { gw cp -a /run/e2e/kept/. /; }

# view "ID…" COMMANDS: prints the doctor's findings in a private mount namespace prepared by
# COMMANDS: `bind`, `put` (replaces a file by a text) and `fill` (writes that many bytes into a /tmp
# of 100 KiB).
view() {
    local id checks=
    for id in $1; do checks+=",\"$id\""; done
    gw 'unshare -m sh -e' <<END | jq -c .findings
bind() { busybox mount -o bind "\$1" "\$2"; }
put() { echo "\$2" >"/run/e2e/view\${1##*/}"; bind "/run/e2e/view\${1##*/}" "\$1"; }
# On OpenWrt /run is in /tmp and must stay visible.
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

# is FINDINGS ID SEVERITY [PART]: fails unless the finding has SEVERITY, and unless that is ok also
# evidence and remedy.
is() {
    local found
    found=$(jq -c --arg id "$2" '.[] | select(.id == $id)' <<<"$1")
    same "severity of $2 in $found" "$(jq -r .severity <<<"$found")" "$3"
    has "the finding" "$found" "${4-}"
    [ "$3" = ok ] && return
    complete "$found" || fail "parts lack: $found"
    echo "$2" >>"$RUN/found"
}
