# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Paths of the lab, for sourcing. All generated files are in build/.
# shellcheck disable=SC2034 # used by the scripts that source this file
LAB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=${LAB%/e2e/lab}
BUILD=${BUILD:-$TOP/build}
IMAGES=$BUILD/lab
ROOT=$IMAGES/root
REPORTS=$BUILD/reports
# Folder of a running lab: sockets, PIDs, ports. LAB_RUN separates labs on one host.
RUN=$(realpath -m "${LAB_RUN:-$IMAGES/run.1}")
# shellcheck source=e2e/scripts/steps.sh
. "$TOP/e2e/scripts/steps.sh"
die() { printf 'lab: %s\n' "$*" >&2; exit 1; }

# poll SECONDS COMMAND…: repeats COMMAND until it succeeds or time is up. Pauses grow from 0.1 s to
# an eighth of the elapsed time, because polling slows the work.
poll() {
    local begun=${EPOCHREALTIME/./} end now pause
    end=$((begun + $1 * 1000000))
    shift
    until "$@"; do
        now=${EPOCHREALTIME/./}
        [ "$now" -lt "$end" ] || return 1
        pause=$(((now - begun) / 8000))
        pause=$((pause < 100 ? 100 : pause > 1000 ? 1000 : pause))
        sleep "$((pause / 1000)).$(printf %03d $((pause % 1000)))"
    done
}
