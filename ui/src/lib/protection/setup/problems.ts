// SPDX-License-Identifier: GPL-2.0-or-later
/** Checks on the page of options of policy and rules: numbers, networks, devices, zones, URLs,
 * verification. */

import type { IpsPolicy } from '../../api/types';
import type { Problem } from '../../form/change.svelte';
import { list as listOf, MASK, text as textOf, type Section } from '../../form/sections';
import { judgement } from '../../form/messages';
import { isNetwork } from './network';
import { isOn, isSourceName, OWN, parseBytes } from './options';
import { s } from './messages';

/** The problem of an option; without one, of the section as a whole. */
export function problemAt(problems: readonly Problem[], section: string, option = ''): string {
  const found = problems.find((each) => each.section === section && each.option === option);
  return found ? judgement('problem', found) : '';
}

/** Problems found without asking the router; `original`: a section as the router has it. */
export function problemsOf(
  sections: readonly Section[],
  places: IpsPolicy,
  original: (section: string) => Section | undefined = (name) =>
    sections.find(({ section }) => section === name),
): Problem[] {
  return sections.flatMap((section) => {
    const check = checks[section.type];
    return check ? check(section, places, original(section.section)) : [];
  });
}

type Check = (section: Section, places: IpsPolicy, original: Section | undefined) => Problem[];

const checks: Record<string, Check> = {
  ips: (section) => [
    ...bytes(section, 'budget_bytes'),
    ...number(section, 'budget_packets', 0, 2 ** 32 - 1),
    ...number(section, 'block_time', 1, 2_592_000),
    ...number(section, 'block_limit', 1, 65_536),
    ...networks(section, 'exempt'),
    ...networks(section, 'block_exempt'),
    ...devices(section),
  ],
  policy: (section, places) => [
    ...length(section, 'name', 64),
    ...zone(section, 'src', places),
    ...zone(section, 'dest', places),
    ...number(section, 'src_vlan', 1, 4094),
    ...number(section, 'dest_vlan', 1, 4094),
  ],
  // The section of that name chooses among the rules that come with fastpath.
  rules: (section, _, original) =>
    section.section === OWN
      ? []
      : [
          ...url(section, 'url'),
          ...proof(section),
          ...(original ? masked(section, original) : name(section)),
        ],
  update: (section) => number(section, 'hour', -1, 23),
};

function text(section: Section, option: string): string {
  const value = section.values[option] ?? '';
  return typeof value === 'string' ? value : value.join(' ');
}

function problem({ section }: Section, option: string, text: string): Problem[] {
  return [{ config: 'fastpath', section, option, code: 'page', text }];
}

function number(section: Section, option: string, least: number, most: number): Problem[] {
  const value = text(section, option);
  const fits = /^-?\d+$/.test(value) && Number(value) >= least && Number(value) <= most;
  return value === '' || fits ? [] : problem(section, option, s('wrong.number', { least, most }));
}

function bytes(section: Section, option: string): Problem[] {
  const value = text(section, option);
  const fits = value === '' || parseBytes(value) !== null;
  return fits ? [] : problem(section, option, s('wrong.bytes'));
}

function networks(section: Section, option: string): Problem[] {
  const wrong = listOf(section, option).find((each) => !isNetwork(each));
  return wrong === undefined ? [] : problem(section, option, s('wrong.network', { value: wrong }));
}

function devices(section: Section): Problem[] {
  const mode = textOf(section, 'mode');
  const given = listOf(section, 'device').length;
  if (!isOn('ips', section)) return [];
  if (mode === 'inline' && given !== 2) return problem(section, 'device', s('wrong.two'));
  if (mode === 'ids' && given === 0) return problem(section, 'device', s('wrong.one'));
  return [];
}

function length(section: Section, option: string, most: number): Problem[] {
  const long = text(section, option).length > most;
  return long ? problem(section, option, s('wrong.long', { most })) : [];
}

function zone(section: Section, option: string, places: IpsPolicy): Problem[] {
  const value = text(section, option);
  const known = value === '' || value === '*' || places.zones.includes(value);
  return known ? [] : problem(section, option, s('wrong.zone', { zone: value }));
}

function url(section: Section, option: string): Problem[] {
  const value = text(section, option);
  // The router shows a mask in place of a password; left as it is, nothing of it is written.
  const plain = value.replaceAll(MASK, 'x');
  const good = /^https?:\/\/[\x21-\x2e\x30-\x7e][\x21-\x7e]*$/.test(plain) && value.length <= 2000;
  return good ? [] : problem(section, option, s('wrong.url'));
}

/** A source is verified by a checksum or a signature, or is said to do without, over TLS. */
function proof(section: Section): Problem[] {
  const value = (option: string) => text(section, option);
  if (value('signature_url')) {
    const missing = value('key') ? [] : problem(section, 'key', s('wrong.key'));
    return [...url(section, 'signature_url'), ...missing];
  }
  if (value('sha256')) {
    const good = /^[0-9a-f]{64}$/i.test(value('sha256'));
    return good ? [] : problem(section, 'sha256', s('wrong.sha256'));
  }
  if (value('sha256_url')) {
    const good = value('sha256_url').startsWith('https://');
    return good ? url(section, 'sha256_url') : problem(section, 'sha256_url', s('wrong.https'));
  }
  if (!isOn('rules', section, 'unverified'))
    return problem(section, 'unverified', s('wrong.unverified'));
  const secure = value('url').startsWith('https://');
  return secure ? [] : problem(section, 'unverified', s('wrong.plain'));
}

/** A URL that is edited needs its password: the router shows a mask in its place. */
function masked(section: Section, original: Section): Problem[] {
  const edited = ['url', 'sha256_url', 'signature_url'].filter((option) => {
    const value = text(section, option);
    return value.includes(MASK) && value !== text(original, option);
  });
  return edited.flatMap((option) => problem(section, option, s('wrong.masked')));
}

/** Of a new source; the others have theirs. */
function name(section: Section): Problem[] {
  return isSourceName(section.section) ? [] : problem(section, 'name', s('wrong.name'));
}
