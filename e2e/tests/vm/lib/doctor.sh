# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the doctor on the gateway in a single shell, which starts more slowly than the doctor runs.

# Checks without a test (@finds), because machines of the lab cannot have the defect:
# @unbroken:checksum-off: ports of QEMU have no checksum offload that can be switched ([fixed])
# @unbroken:lro-on: virtio has no LRO ([fixed]); its rx-gro-hw only merges reversibly
# @unbroken:rx-hash-off: ports of QEMU compute no receive hash ([fixed])
# @unbroken:queues-few: emulated ports have a single queue, their maximum
# @unbroken:sqm-hardware: emulated ports have no hardware offload, so flowtable-hw is not used
# @unbroken:hw-tc-off: no emulated port has hw-tc-offload ([fixed])

# Shell functions for the gateway: severity, fix and expectations of a check.
# shellcheck disable=SC2016 # expanded on the gateway
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

# doctor SCRIPT: runs SCRIPT with these functions on the gateway, up to the first failure.
doctor() {
    local said status=0
    said=$(gw "$DOCTOR
set -e
$1") || status=$?
    printf '%s\n' "$said"
    sed -n 's/^found: \([^ ]*\).*/\1/p' <<<"$said" >>"$RUN/found"
    return "$status"
}

change_confirmed() {
    local answer id
    answer=$(gw "echo '{\"id\":\"$1\",\"seconds\":60}' |
        /usr/libexec/rpcd/fastpath.doctor call fix")
    id=$(jq -r '.id // empty' <<<"$answer")
    [ -n "$id" ] || fail "the fix of $1 was not applied: $answer"
    answer=$(gw "echo '{\"id\":$id}' | /usr/libexec/rpcd/fastpath.change call confirm")
    lacks "the answer of confirm" "$answer" '"error"'
}
