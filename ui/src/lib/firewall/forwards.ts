// SPDX-License-Identifier: GPL-2.0-or-later
/** Which redirects are port forwards, which of them the form can express, and the fields that the
 * page requires of one. */

import type { Problem } from '../form/change.svelte';
import type { Draft } from '../form/draft.svelte';
import { isOn, list, text, type Edit, type Section } from '../form/sections';
import { protocolsOf } from './fw4';

const FILE = 'firewall';

/** Whether a redirect leads connections elsewhere: fw4 takes every target but SNAT for DNAT. */
export const isForward = (redirect: Section): boolean =>
  !'snat'.startsWith(text(redirect, 'target', 'dnat').toLowerCase());

/** The port forwards; other redirects change where connections come from. */
export const forwardsOf = (draft: Pick<Draft, 'all'>): Section[] =>
  draft.all(FILE, 'redirect').filter(isForward);

/** Whether a port forward ends at the router: it names no host, or an address of the router. */
export function endsHere(draft: Pick<Draft, 'all'>, forward: Section): boolean {
  const [host = ''] = text(forward, 'dest_ip').split('/');
  const own = draft.all('network', 'interface').flatMap((each) => list(each, 'ipaddr'));
  return host === '' || own.some((address) => address.split('/')[0] === host);
}

/** Other redirects. */
export const othersOf = (draft: Pick<Draft, 'all'>): Section[] =>
  draft.all(FILE, 'redirect').filter((each) => !isForward(each));

/** The options of the form, which has one value for each. */
const formed = ['enabled', 'name', 'src', 'src_dport', 'dest', 'dest_ip', 'dest_port'];
/** Further options, without an effect on which connections from outside are forwarded. */
const harmless = [
  ...['target', 'proto', 'family', 'counter', 'log'],
  ...['reflection', 'reflection_src', 'reflection_zone'],
];
/** Choices of the form's protocol. */
export const protocols = ['tcp', 'udp', 'tcp udp'];

/** The protocols in the form's words. */
export const protocolOf = (forward: Section): string => protocolsOf(forward, 'tcpudp').join(' ');

/** An option as text, whether it is one or a list. */
export const said = ({ values }: Section, option: string): string =>
  [values[option] ?? []].flat().join(' ');

/** Whether the form can show the options that it has, and write them again. */
export const isFormed = (forward: Section): boolean =>
  protocols.includes(protocolOf(forward)) &&
  formed.every((option) => {
    const entries = [forward.values[option] ?? []].flat();
    return entries.length <= 1 && !entries[0]?.startsWith('!');
  });

/** The options that the form does not show: of one that it cannot express, all. */
export const foreignOf = (forward: Section): string[] =>
  Object.keys(forward.values).filter(
    (option) => !isFormed(forward) || ![...formed, ...harmless].includes(option),
  );

/** The names of the sections that an edit is about. */
function edited(edit: Edit): string[] {
  if (edit.config !== FILE) return [];
  if (edit.op === 'add') return [edit.section ?? edit.id ?? ''];
  return edit.op === 'set' ? [edit.section] : [];
}

/**
 * The page's requirements for a port forward, which are stricter than fw4's: fw4 skips one without
 * `src`, and forwards all ports where none is named. Without a host it leads to the router whatever
 * `dest` is, so a zone needs a host.
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
 * The fields missing in enabled port forwards. Unedited ones are not checked, nor fields that the
 * router's own file lacks: without a port all of them are forwarded.
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
