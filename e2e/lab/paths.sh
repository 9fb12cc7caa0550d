# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where things are. To be sourced; everything made lies under build/.
LAB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=${LAB%/e2e/lab}
BUILD=${BUILD:-$TOP/build}
IMAGES=$BUILD/lab
REPORTS=$BUILD/reports
# One running lab: sockets, process ids, ports. Two labs side by side differ in LAB_RUN.
RUN=${LAB_RUN:-$IMAGES/run.1}
# shellcheck source=e2e/scripts/steps.sh
. "$TOP/e2e/scripts/steps.sh"
die() { printf 'lab: %s\n' "$*" >&2; exit 1; }
