// SPDX-License-Identifier: GPL-2.0-or-later
/** fw4's reading of options: case and abbreviations of words, protocols, default policies. */

import type { Draft } from '../form/draft.svelte';
import { list, text, type Section } from '../form/sections';

/** fw4 takes the first word with the given prefix, so the order matters. */
const policies = ['accept', 'reject', 'drop'] as const;
const targets = [
  ...policies,
  'notrack',
  'helper',
  'mark',
  'dscp',
  'dnat',
  'snat',
  'masquerade',
] as const;

const wordOf = <T extends string>(word: string, words: readonly T[]): T | undefined =>
  words.find((each) => word !== '' && each.startsWith(word.toLowerCase()));

/** Returns the target of a rule; `undefined` if it is invalid. */
export const targetOf = (rule: Section) => wordOf(text(rule, 'target'), targets);

/** Returns the default policy of fw4. */
export function defaultPolicy(draft: Pick<Draft, 'all'>, option: 'input' | 'forward') {
  // fw4 ignores a second section.
  const [defaults] = draft.all('firewall', 'defaults');
  return wordOf(text(defaults, option, 'drop'), policies);
}

/** Returns the policy of a zone, or the default policy if the zone has none. */
export function policyOf(draft: Pick<Draft, 'all'>, zone: Section, option: 'input' | 'forward') {
  const own = text(zone, option);
  return own === '' ? defaultPolicy(draft, option) : wordOf(own, policies);
}

const numbers: Readonly<Record<string, string>> = {
  '1': 'icmp',
  '6': 'tcp',
  '17': 'udp',
  '58': 'ipv6-icmp',
  icmpv6: 'ipv6-icmp',
  any: 'all',
  '*': 'all',
};

/** Returns the sorted names of a section's protocols; a negated name begins with `!`. */
export function protocolsOf(section: Section, otherwise: string): string[] {
  const given = list(section, 'proto');
  const all = (given.length > 0 ? given : otherwise.split(' ')).flatMap((each) => {
    const [, not = '', word = ''] = /^(!?)\s*(.*)$/.exec(each.toLowerCase()) ?? [];
    const names = word === 'tcpudp' ? ['tcp', 'udp'] : [numbers[word] ?? word];
    return names.map((name) => not + name);
  });
  return [...new Set(all)].sort();
}
