# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The doctor's findings on the gateway, and its fixes. A defect is caused, found, fixed and
# silent in one go there, since a shell on the gateway costs more than a run.

# Checks that no machine here can be broken for; all others have a test with @finds.
# @unbroken:checksum-off: QEMU's ports here have no checksum offload that can be switched (all
# [fixed])
# @unbroken:lro-on: virtio has no LRO ([fixed]); rx-gro-hw, which it has, merges nothing it
# cannot undo
# @unbroken:rx-hash-off: QEMU's ports here compute no receive hash ([fixed])
# @unbroken:queues-few: the emulated ports have one queue each, as many as they can
# @unbroken:sqm-hardware: no emulated port takes hardware offload, so the engine is never
# flowtable-hw
# @unbroken:hw-tc-off: no emulated port has hw-tc-offload ([fixed])

# The same on the gateway: severity of each named check, its fix, and the expectation.
# shellcheck disable=SC2016 # the gateway expands it
DOCTOR='
plugin() { echo "$2" | /usr/libexec/rpcd/fastpath.doctor call "$1"; }
report() { plugin run "{\"checks\":[\"$1\"],\"sample_ms\":0}"; }
severity() { report "$1" | sed "s/.*\"severity\":\"\([a-z]*\)\".*/\1/"; }
failed() { echo "failed: $*"; report "$2"; echo; exit 1; }
silent() { [ "$(severity "$1")" = ok ] || failed silent "$1"; }
finds() {
    found=$(severity "$1")
    case $found in error | warning | advice) ;; *) failed finds "$1" "($found)" ;; esac
    echo "found: $1 $found"
}
fixes() {
    said=$(plugin fix "{\"id\":\"$1\"}")
    case $said in *"\"done\":true"*) ;; *) echo "failed: fix of $1: $said"; exit 1 ;; esac
}
# unload MODULE…: those that are loaded. The modprobe of OpenWrt has no option -r.
unload() {
    for module; do ! grep -q "^$module " /proc/modules || rmmod $module; done
}
soon() {
    seconds=$1
    shift
    until answer=$("$@"); do
        [ $((seconds -= 1)) -gt 0 ] || { echo "$answer"; exit 1; }
        # @sleep: between two questions of soon on the gateway
        sleep 1
    done
    echo "$answer"
}
'

# doctor SCRIPT: runs it on the gateway with the functions above; its first failure ends the test.
doctor() {
    local said status=0
    said=$(gw "$DOCTOR
set -e
$1") || status=$?
    printf '%s\n' "$said"
    sed -n 's/^found: \([^ ]*\).*/\1/p' <<<"$said" >>"$RUN/found"
    return "$status"
}

# change_confirmed ID: the fix of a check is a change of the settings; it is applied and confirmed.
change_confirmed() {
    local answer id
    answer=$(gw "echo '{\"id\":\"$1\",\"seconds\":60}' |
        /usr/libexec/rpcd/fastpath.doctor call fix")
    id=$(jq -r '.id // empty' <<<"$answer")
    [ -n "$id" ] || fail "the fix of $1 was not applied: $answer"
    answer=$(gw "echo '{\"id\":$id}' | /usr/libexec/rpcd/fastpath.change call confirm")
    lacks "the answer of confirm" "$answer" '"error"'
}
