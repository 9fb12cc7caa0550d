// SPDX-License-Identifier: GPL-2.0-or-later
// Converts a profile to OpenWrt's configuration, and compares it with a .config. No I/O.

// Returns [symbol without CONFIG_, value as in .config], in output order.
export function symbols(profile) {
  const { target, subtarget, device, packages, config, rootfs_mib } = profile;
  const board = `TARGET_${target}`;
  const wanted = [
    [board, 'y'],
    [`${board}_${subtarget}`, 'y'],
    [`${board}_${subtarget}_DEVICE_${device}`, 'y'],
  ];
  if (rootfs_mib !== undefined) wanted.push(['TARGET_ROOTFS_PARTSIZE', String(rootfs_mib)]);
  for (const [symbol, value] of Object.entries(config).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const bare = value === 'y' || value === 'n' || typeof value === 'number';
    wanted.push([symbol, bare ? String(value) : `"${value}"`]);
  }
  for (const name of [...packages].sort()) wanted.push([`PACKAGE_${name}`, 'y']);
  return wanted;
}

function line(symbol, value) {
  return value === 'n' ? `# CONFIG_${symbol} is not set` : `CONFIG_${symbol}=${value}`;
}

export function seed(profile) {
  const head = `# Profile ${profile.name}: ${profile.title}\n`;
  return (
    head +
    symbols(profile)
      .map(([s, v]) => `${line(s, v)}\n`)
      .join('')
  );
}

export function parse(text) {
  const found = new Map();
  for (const each of text.split('\n')) {
    const set = /^CONFIG_([^=\s]+)=(.*)$/.exec(each);
    const unset = /^# CONFIG_(\S+) is not set$/.exec(each);
    if (set) found.set(set[1], set[2]);
    else if (unset) found.set(unset[1], 'n');
  }
  return found;
}

function describe(symbol, wanted, value) {
  if (value === undefined) return 'the symbol does not exist here, or a dependency is missing';
  if (value === 'n') return 'is not set: something it depends on is missing';
  if (wanted === 'y' && value === 'm') return 'is m: built, but not in the image';
  if (wanted === 'n') return `is ${value}: something selects it`;
  return `is ${value}`;
}

// Returns symbols that `make defconfig` dropped or changed. kconfig drops symbols without a message
// if they are unknown or lack a dependency.
export function survivors(profile, text) {
  const found = parse(text);
  return symbols(profile)
    .map(([symbol, wanted]) => ({ symbol, wanted, value: found.get(symbol) }))
    .filter(({ wanted, value }) => (value ?? 'n') !== wanted)
    .map(({ symbol, wanted, value }) => ({
      symbol,
      wanted,
      found: describe(symbol, wanted, value),
    }));
}
