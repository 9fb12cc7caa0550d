// SPDX-License-Identifier: GPL-2.0-or-later
/** Port forwards: redirects that the form can express, and the fields that the page requires. */

import type { Problem } from '../form/change.svelte';
import type { Draft } from '../form/draft.svelte';
import { isOn, list, text, type Edit, type Section } from '../form/sections';
import { protocolsOf } from './fw4';

const FILE = 'firewall';

/** Reports whether a redirect is a port forward: fw4 takes every target except SNAT for DNAT. */
export const isForward = (redirect: Section): boolean =>
  !'snat'.startsWith(text(redirect, 'target', 'dnat').toLowerCase());

/** Returns the port forwards; other redirects change the source of connections. */
export const forwardsOf = (draft: Pick<Draft, 'all'>): Section[] =>
  draft.all(FILE, 'redirect').filter(isForward);

/** Reports whether a forward ends at the router: it has no host, or the router's address. */
export function endsHere(draft: Pick<Draft, 'all'>, forward: Section): boolean {
  const [host = ''] = text(forward, 'dest_ip').split('/');
  const own = draft.all('network', 'interface').flatMap((each) => list(each, 'ipaddr'));
  return host === '' || own.some((address) => address.split('/')[0] === host);
}

export const othersOf = (draft: Pick<Draft, 'all'>): Section[] =>
  draft.all(FILE, 'redirect').filter((each) => !isForward(each));

/** Options of the form, which accepts one value for each. */
const formed = ['enabled', 'name', 'src', 'src_dport', 'dest', 'dest_ip', 'dest_port'];
/** Options that do not change which connections from outside are forwarded. */
const harmless = [
  ...['target', 'proto', 'family', 'counter', 'log'],
  ...['reflection', 'reflection_src', 'reflection_zone'],
];
export const protocols = ['tcp', 'udp', 'tcp udp'];

/** Returns the protocols of a forward, spelled as in the form. */
export const protocolOf = (forward: Section): string => protocolsOf(forward, 'tcpudp').join(' ');

/** Returns an option as text; list entries are joined with spaces. */
export const said = ({ values }: Section, option: string): string =>
  [values[option] ?? []].flat().join(' ');

/** Reports whether the form can express the options of a forward. */
export const isFormed = (forward: Section): boolean =>
  protocols.includes(protocolOf(forward)) &&
  formed.every((option) => {
    const entries = [forward.values[option] ?? []].flat();
    return entries.length <= 1 && !entries[0]?.startsWith('!');
  });

/** Returns the options that the form does not show, or all if it cannot express the forward. */
export const foreignOf = (forward: Section): string[] =>
  Object.keys(forward.values).filter(
    (option) => !isFormed(forward) || ![...formed, ...harmless].includes(option),
  );

/** Returns the names of the sections that an edit affects. */
function edited(edit: Edit): string[] {
  if (edit.config !== FILE) return [];
  if (edit.op === 'add') return [edit.section ?? edit.id ?? ''];
  return edit.op === 'set' ? [edit.section] : [];
}

/**
 * Returns the missing fields of a port forward. The page is stricter than fw4, which skips a
 * forward without `src` and forwards all ports without `src_dport`. Without a host a forward leads
 * to the router whatever `dest` is, so a zone requires a host.
 */
function lacking(forward: Section): { option: string; code: string }[] {
  const ports = protocols.includes(protocolOf(forward));
  const host = text(forward, 'dest') !== '' || text(forward, 'src_dport') === '';
  const needed = [
    { option: 'src', code: 'zone-missing' },
    ...(ports ? [{ option: 'src_dport', code: 'port-missing' }] : []),
    ...(host ? [{ option: 'dest_ip', code: 'forward-host' }] : []),
  ];
  return needed.filter(({ option }) => said(forward, option) === '');
}

/**
 * Returns the missing fields of edited, enabled port forwards. Fields that the router's own file
 * lacks are not reported: a forward without a port forwards all ports.
 */
export function faultsOf(draft: Pick<Draft, 'all' | 'edits' | 'original'>): Problem[] {
  const changed = new Set(draft.edits.flatMap(edited));
  const isNew = ({ section }: Section, option: string) => {
    const before = draft.original(FILE, section);
    return !before || lacking(before).every((one) => one.option !== option);
  };
  return forwardsOf(draft)
    .filter((each) => changed.has(each.section) && isOn(each, 'enabled', '1'))
    .flatMap((forward) => {
      const { section } = forward;
      const found = lacking(forward).filter(({ option }) => isNew(forward, option));
      return found.map((one) => ({ config: FILE, section, text: one.code, ...one }));
    });
}
