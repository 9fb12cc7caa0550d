# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where things are. To be sourced; everything made lies under build/.
# shellcheck disable=SC2034 # for those who source this
LAB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=${LAB%/e2e/lab}
BUILD=${BUILD:-$TOP/build}
IMAGES=$BUILD/lab
ROOT=$IMAGES/root
REPORTS=$BUILD/reports
# One running lab: sockets, process ids, ports. Two labs side by side differ in LAB_RUN.
RUN=$(realpath -m "${LAB_RUN:-$IMAGES/run.1}")
# shellcheck source=e2e/scripts/steps.sh
. "$TOP/e2e/scripts/steps.sh"
die() { printf 'lab: %s\n' "$*" >&2; exit 1; }

# poll SECONDS COMMAND…: every tenth of a second, until COMMAND succeeds or the time is over. What
# takes longer is asked for less often: an emulated machine has enough to do.
poll() {
    local end=$((${EPOCHREALTIME/./} + $1 * 1000000)) tries=0
    shift
    until "$@"; do
        [ "${EPOCHREALTIME/./}" -lt "$end" ] || return 1
        tries=$((tries + 1))
        if [ "$tries" -lt 15 ]; then sleep 0.1; else sleep 0.4; fi
    done
}
