// SPDX-License-Identifier: GPL-2.0-or-later

import { list, text, type Section } from './sections';

/** Returns the prefix length of a netmask, `24` or `255.255.255.0`. */
function lengthOf(mask: string): number | undefined {
  if (/^\d{1,2}$/.test(mask)) return Number(mask) <= 32 ? Number(mask) : undefined;
  const bytes = mask.split('.').map((each) => (/^\d{1,3}$/.test(each) ? Number(each) : 256));
  if (bytes.length !== 4 || bytes.some((each) => each > 255)) return undefined;
  const bits = bytes.map((each) => each.toString(2).padStart(8, '0')).join('');
  return /^1*0*$/.test(bits) ? bits.lastIndexOf('1') + 1 : undefined;
}

/** Returns the IPv4 addresses as 192.0.2.1/24. `netmask` applies to addresses without a prefix. */
export function addressesOf(section: Section | undefined): string[] {
  const common = text(section, 'netmask');
  return list(section, 'ipaddr').map((each) => {
    const [address = '', mask = common] = each.split('/', 2);
    const length = lengthOf(mask);
    return length === undefined ? each : `${address}/${length}`;
  });
}
