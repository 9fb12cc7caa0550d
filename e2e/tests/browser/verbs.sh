# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The verbs of the lab and of the VM tests, for the browser tests: bash -c '. verbs.sh; "$@"'.
TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VM=$TESTS/vm
# shellcheck source=e2e/lab/verbs.sh
. "$TESTS/../lab/verbs.sh"
for part in expect gateway traffic crowd web ips archives; do
    # shellcheck source=/dev/null
    . "$VM/lib/$part.sh"
done

# told LINE: as if Suricata had written it.
told() { printf '%s\n' "$1" | feed; }
