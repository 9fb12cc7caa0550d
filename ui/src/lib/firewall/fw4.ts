// SPDX-License-Identifier: GPL-2.0-or-later

import type { Draft } from '../form/draft.svelte';
import { list, text, type Section } from '../form/sections';

/** fw4 accepts prefixes and uses the first match, so the order matters. */
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

export const targetOf = (rule: Section) => wordOf(text(rule, 'target'), targets);

export function defaultPolicy(draft: Pick<Draft, 'all'>, option: 'input' | 'forward') {
  // fw4 ignores further sections.
  const [defaults] = draft.all('firewall', 'defaults');
  return wordOf(text(defaults, option, 'drop'), policies);
}

/** Returns the policy of a zone; by default fw4's default policy. */
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

/** Returns the sorted protocols of a section; `!` marks a negated one. */
export function protocolsOf(section: Section, otherwise: string): string[] {
  const given = list(section, 'proto');
  const all = (given.length > 0 ? given : otherwise.split(' ')).flatMap((each) => {
    const [, not = '', word = ''] = /^(!?)\s*(.*)$/.exec(each.toLowerCase()) ?? [];
    const names = word === 'tcpudp' ? ['tcp', 'udp'] : [numbers[word] ?? word];
    return names.map((name) => not + name);
  });
  return [...new Set(all)].sort();
}
