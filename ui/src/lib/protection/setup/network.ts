// SPDX-License-Identifier: GPL-2.0-or-later
/** Whether a text is an address or a network in CIDR form; the router checks more. */

export function isNetwork(text: string): boolean {
  const [address = '', prefix, more] = text.split('/');
  const four = isIpv4(address);
  if (more !== undefined || !(four || isIpv6(address))) return false;
  if (prefix === undefined) return true;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (four ? 32 : 128);
}

function isIpv4(text: string): boolean {
  const parts = text.split('.');
  return (
    parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && +part < 256)
  );
}

function isIpv6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')));
  const all = groups.flat();
  const last = all.at(-1) ?? '';
  const words = last.includes('.') ? all.length + 1 : all.length;
  const good = all.every((group, i) => {
    if (group.includes('.')) return i === all.length - 1 && isIpv4(group);
    return /^[0-9a-f]{1,4}$/i.test(group);
  });
  return good && (halves.length === 2 ? words < 8 : words === 8);
}
