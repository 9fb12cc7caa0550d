// SPDX-License-Identifier: GPL-2.0-or-later

import type { Problem } from '../form/change.svelte';
import type { Draft } from '../form/draft.svelte';
import { isOn, list, text, type Edit, type Section } from '../form/sections';
import { protocolsOf } from './fw4';

const FILE = 'firewall';

/** Reports whether a redirect is a port forward: fw4 treats every target except SNAT as DNAT. */
export const isForward = (redirect: Section): boolean =>
  !'snat'.startsWith(text(redirect, 'target', 'dnat').toLowerCase());

export const forwardsOf = (draft: Pick<Draft, 'all'>): Section[] =>
  draft.all(FILE, 'redirect').filter(isForward);

/**
 * Reports whether a forward leads to the router itself: its host is empty or an address of the
 * router.
 */
export function endsHere(draft: Pick<Draft, 'all'>, forward: Section): boolean {
  const [host = ''] = text(forward, 'dest_ip').split('/');
  const own = draft.all('network', 'interface').flatMap((each) => list(each, 'ipaddr'));
  return host === '' || own.some((address) => address.split('/')[0] === host);
}

export const othersOf = (draft: Pick<Draft, 'all'>): Section[] =>
  draft.all(FILE, 'redirect').filter((each) => !isForward(each));

/** Options of the form, which shows one value of each. */
const formed = ['enabled', 'name', 'src', 'src_dport', 'dest', 'dest_ip', 'dest_port'];
/** Options without influence on which connections are forwarded. */
const harmless = [
  ...['target', 'proto', 'family', 'counter', 'log'],
  ...['reflection', 'reflection_src', 'reflection_zone'],
];
export const protocols = ['tcp', 'udp', 'tcp udp'];

/** Returns the protocols of a forward in the spelling of the form. */
export const protocolOf = (forward: Section): string => protocolsOf(forward, 'tcpudp').join(' ');

export const optionText = ({ values }: Section, option: string): string =>
  [values[option] ?? []].flat().join(' ');

export const isFormed = (forward: Section): boolean =>
  protocols.includes(protocolOf(forward)) &&
  formed.every((option) => {
    const entries = [forward.values[option] ?? []].flat();
    return entries.length <= 1 && !entries[0]?.startsWith('!');
  });

/**
 * Returns the options that the form does not show; all options if it cannot express the forward.
 */
export const foreignOf = (forward: Section): string[] =>
  Object.keys(forward.values).filter(
    (option) => !isFormed(forward) || ![...formed, ...harmless].includes(option),
  );

function edited(edit: Edit): string[] {
  if (edit.config !== FILE) return [];
  if (edit.op === 'add') return [edit.section ?? edit.id ?? ''];
  return edit.op === 'set' ? [edit.section] : [];
}

/**
 * Returns the missing fields of a port forward. Without `src` fw4 skips the forward, and without
 * `src_dport` it forwards all ports, so the page requires both. Without a host a forward leads to
 * the router whatever `dest` is, so a zone requires a host.
 */
function missingFields(forward: Section): { option: string; code: string }[] {
  const ports = protocols.includes(protocolOf(forward));
  const host = text(forward, 'dest') !== '' || text(forward, 'src_dport') === '';
  const needed = [
    { option: 'src', code: 'zone-missing' },
    ...(ports ? [{ option: 'src_dport', code: 'port-missing' }] : []),
    ...(host ? [{ option: 'dest_ip', code: 'forward-host' }] : []),
  ];
  return needed.filter(({ option }) => optionText(forward, option) === '');
}

/**
 * Returns the missing fields of edited, enabled port forwards. A field that the router's file lacks
 * is not required, because a forward of all ports is valid.
 */
export function faultsOf(draft: Pick<Draft, 'all' | 'edits' | 'original'>): Problem[] {
  const changed = new Set(draft.edits.flatMap(edited));
  const isNew = ({ section }: Section, option: string) => {
    const before = draft.original(FILE, section);
    return !before || missingFields(before).every((one) => one.option !== option);
  };
  return forwardsOf(draft)
    .filter((each) => changed.has(each.section) && isOn(each, 'enabled', '1'))
    .flatMap((forward) => {
      const { section } = forward;
      const found = missingFields(forward).filter(({ option }) => isNew(forward, option));
      return found.map((one) => ({ config: FILE, section, text: one.code, ...one }));
    });
}
