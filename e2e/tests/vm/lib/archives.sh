# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # the tests use the names
# Valid and invalid rule archives at http://203.0.113.1/rules/NAME on the ISP's server.

RULES_URL=http://203.0.113.1/rules
# Checksums over TLS: an attacker who changes an archive could also change its checksum.
SUMS_URL=https://lab.example/rules
# Rules of the valid archives; they match /mark-1.txt and /mark-2.txt.
MARK_1=9000001
MARK_2=9000002

# mark_rule NUMBER: prints a rule that drops answers with fastpath-mark-NUMBER.
mark_rule() {
    printf 'drop http any any -> any any (msg:"mark %s"; flow:established,to_client; %s %s)\n' \
        "$1" "http.response_body; content:\"fastpath-mark-$1\";" "sid:900000$1; rev:1;"
}

# bomb: creates an archive of a few MB that unpacks to 2 GiB of comments, unless it exists.
bomb() {
    local bomb=$IMAGES/bomb.tar.gz
    [ -f "$bomb" ] || {
        local work
        work=$(mktemp -d "$IMAGES/bomb.XXXXXX")
        mkdir "$work/rules"
        { yes "# nothing, again and again" || true; } | head -c 2147483648 >"$work/rules/big.rules"
        tar -C "$work" -cf - rules | gzip -1 >"$bomb.new"
        rm -rf "$work"
        mv "$bomb.new" "$bomb"
    }
    peers 'cat >/tmp/www/rules/bomb.tar.gz' <"$bomb"
}

serve_archives() {
    ! peers test -f /tmp/www/rules/bomb.tar.gz.sha256 || return 0
    peers 'mkdir -p /tmp/www/rules /tmp/rules.e2e
        echo fastpath-mark-1 >/tmp/www/mark-1.txt; echo fastpath-mark-2 >/tmp/www/mark-2.txt'
    { mark_rule 1; echo '# a remark'; } | peers 'cat >/tmp/rules.e2e/one.rules'
    mark_rule 2 | peers 'cat >/tmp/rules.e2e/two.rules'
    # shellcheck disable=SC2016 # expanded on the peers
    peers 'set -e
        cd /tmp/rules.e2e
        www=/tmp/www/rules
        pack() { name=$1; shift; tar -czf "$www/$name.tar.gz" "$@"; }
        mkdir -p rules deep
        cp one.rules rules/mark.rules; cp two.rules rules/other.rules
        pack good rules
        # Same file names with other contents.
        cp two.rules rules/mark.rules
        pack better rules
        sed "s/content:/kontent:/" one.rules >rules/mark.rules
        pack syntax rules
        cp one.rules rules/mark.rules
        tar -C deep -czPf "$www/traversal.tar.gz" ../rules/mark.rules
        ln -sf /etc/passwd rules/link.rules
        pack link rules
        rm rules/link.rules
        head -c 150 "$www/good.tar.gz" >"$www/truncated.tar.gz"
        echo "<html>not found</html>" >"$www/page.tar.gz"
        cd "$www"
        for file in *.tar.gz; do sha256sum "$file" >"$file.sha256"; done
        echo "0000000000000000000000000000000000000000000000000000000000000000  wrong.tar.gz" \
            >wrong.tar.gz.sha256
        cp good.tar.gz wrong.tar.gz'
    bomb
    peers 'cd /tmp/www/rules; sha256sum bomb.tar.gz >bomb.tar.gz.sha256'
}

serve_archive() {
    peers "mkdir -p /tmp/rules.e2e/$1/rules && cat >/tmp/rules.e2e/$1/rules/mark.rules
        cd /tmp/www/rules && tar -C /tmp/rules.e2e/$1 -czf $1.tar.gz rules
        sha256sum $1.tar.gz >$1.tar.gz.sha256"
}

# source_of NAME [LINES]: prints a configuration with one rule source, without a schedule.
source_of() {
    printf "
config update 'update'
	option hour '-1'
	option limit_mib '64'

config rules 'lab'
	option url '%s/%s.tar.gz'
	option sha256_url '%s/%s.tar.gz.sha256'
%s
" "$RULES_URL" "$1" "$SUMS_URL" "$1" "${2-}"
}

updated() { says ".rules.state == \"$1\"" ips; }

update() {
    same "started" "$(said .started update-rules)" true
    soon 90 says '.rules.state != "updating"' ips
    updated "$1" || fail "the update is not $1: $(ips_value .rules)"
}
