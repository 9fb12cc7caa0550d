// SPDX-License-Identifier: GPL-2.0-or-later
/** Which redirects are port forwards, and the fields that the page requires of one. */

import type { Problem } from '../form/change.svelte';
import type { Draft } from '../form/draft.svelte';
import { isOn, list, text, type Edit, type Section } from '../form/sections';

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
  const protos = list(forward, 'proto');
  const ports = protos.every((each) => ['tcp', 'udp'].includes(each));
  const host = text(forward, 'dest') !== '' || text(forward, 'src_dport') === '';
  const needed = [
    { option: 'src', code: 'zone-missing' },
    ...(ports ? [{ option: 'src_dport', code: 'port-missing' }] : []),
    ...(host ? [{ option: 'dest_ip', code: 'forward-host' }] : []),
  ];
  return needed.filter(({ option }) => text(forward, option) === '');
}

/** The fields missing in enabled port forwards; unedited ones are not checked. */
export function faultsOf(draft: Pick<Draft, 'all' | 'edits'>): Problem[] {
  const changed = new Set(draft.edits.flatMap(edited));
  return forwardsOf(draft)
    .filter((each) => changed.has(each.section) && isOn(each, 'enabled', '1'))
    .flatMap((each) =>
      lacking(each).map((one) => ({ config: FILE, section: each.section, text: one.code, ...one })),
    );
}
