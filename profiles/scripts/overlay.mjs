// SPDX-License-Identifier: GPL-2.0-or-later
// Returns the files of an image that belong to no package: first-boot settings, sysctl. No I/O.

const MARK = '/etc/fastpath-profile';

function setters(defaults, indent) {
  return Object.entries(defaults)
    .map(([option, value]) => `${indent}preset ${option} '${value}'\n`)
    .join('');
}

function tier({ memory_mib, cores, defaults }, first) {
  const test = `[ "$memory" -ge ${memory_mib} ] && [ "$cores" -ge ${cores} ]`;
  return `${first ? 'if' : 'elif'} ${test}; then\n${setters(defaults, '\t')}`;
}

// An upgrade restores the configuration and runs the script again. The marker file, which is also
// restored, prevents it from overwriting settings.
function firstBoot(profile) {
  const tiers = profile.tiers.map((t, i) => tier(t, i === 0)).join('');
  return `#!/bin/sh
# Defaults of profile ${profile.name}, by the memory and cores found.

[ -e ${MARK} ] && exit 0

memory=$(awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo)
cores=$(grep -c '^processor' /proc/cpuinfo)

# The section may be gone: a package can be left out of an image.
preset() {
	uci -q get "\${1%.*}" >/dev/null && uci set "$1=$2"
}

${tiers}fi
${setters(profile.defaults, '')}uci commit fastpath
echo '${profile.name}' >${MARK}
exit 0
`;
}

function sysctl(profile) {
  return Object.entries(profile.sysctl)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('');
}

export function overlay(profile) {
  return [
    { path: 'etc/uci-defaults/95-fastpath-profile', mode: 0o644, text: firstBoot(profile) },
    { path: 'etc/sysctl.d/30-fastpath-profile.conf', mode: 0o644, text: sysctl(profile) },
    { path: 'lib/upgrade/keep.d/fastpath-profile', mode: 0o644, text: `${MARK}\n` },
  ];
}
