// SPDX-License-Identifier: GPL-2.0-or-later
/**
 * IPTV: a VLAN of the provider's line, bridged to a port of the router. The bridge is its own, so
 * that IGMP snooping sees only the provider's queries and the home networks are flooded as before.
 */

import type { Draft } from '../form/draft.svelte';
import { list, text } from '../form/sections';
import { lineOf, wansOf } from '../wan/wan';
import { bridgesOf, memberOf, vlansOf } from './matrix';

export const BRIDGE = 'br-iptv';
const INTERFACE = 'iptv';

export interface Iptv {
  vid: string;
  /** Port of the line. */
  line: string;
  /** Ports of the set-top boxes. */
  ports: string[];
}

const bridgeOf = (draft: Draft) => bridgesOf(draft).find(({ name }) => name === BRIDGE);

export function iptvOf(draft: Draft): Iptv | undefined {
  const [vlan] = vlansOf(draft, BRIDGE);
  const all = bridgeOf(draft)?.ports ?? [];
  const upstream = all.find((port) => port.endsWith(`.${vlan?.vid}`));
  if (!vlan || !upstream) return;
  const line = upstream.slice(0, -vlan.vid.length - 1);
  return { vid: vlan.vid, line, ports: all.filter((port) => port !== upstream) };
}

/** Returns the port of the first WAN. */
export const lineOfFirst = (draft: Draft): string => lineOf(draft, wansOf(draft)[0] ?? '').port;

/** Returns the bridge of the home networks. */
const homeOf = (draft: Draft) =>
  bridgesOf(draft).find(({ name, ports }) => name !== BRIDGE && ports.length > 0);

/** Returns the ports that a set-top box can have; the last port of the home bridge stays. */
export const portsFor = (draft: Draft): readonly string[] => {
  const ports = homeOf(draft)?.ports ?? [];
  return ports.length > 1 ? ports.filter((port) => !port.includes('.')) : [];
};

export type Wrong = 'vid' | 'vid.line';

export function wrongWith(draft: Draft, vid: string): Wrong | undefined {
  const number = /^\d{1,4}$/.test(vid) ? Number(vid) : 0;
  if (number < 1 || number > 4094) return 'vid';
  const device = `${lineOfFirst(draft)}.${number}`;
  const used = draft.all('network').some((each) => {
    return [text(each, 'device'), text(each, 'name')].includes(device);
  });
  return used ? 'vid.line' : undefined;
}

export function addIptv(draft: Draft, vid: string, port: string): void {
  const upstream = `${lineOfFirst(draft)}.${vid}`;
  const home = homeOf(draft);
  if (!home) return;
  const ports = home.ports.filter((each) => each !== port);
  draft.set('network', home.section.section, { ports });
  for (const { section } of vlansOf(draft, home.name)) {
    const before = list(section, 'ports');
    const rest = before.filter((each) => memberOf(each)[0] !== port);
    if (rest.length < before.length) draft.set('network', section.section, { ports: rest });
  }
  draft.add('network', 'device', {
    name: BRIDGE,
    type: 'bridge',
    ports: [upstream, port],
    igmp_snooping: '1',
    // netifd's default with snooping is a querier, which would compete with the provider's.
    multicast_querier: '0',
  });
  const members = [upstream, port].map((each) => `${each}:u*`);
  draft.add('network', 'bridge-vlan', { device: BRIDGE, vlan: vid, ports: members });
  draft.add('network', 'interface', { device: `${BRIDGE}.${vid}`, proto: 'none' }, INTERFACE);
}

/** Returns `now` with the ports that come back, in the order of `before`. */
function restored(before: readonly string[], now: readonly string[], back: readonly string[]) {
  const wanted = [...now, ...back];
  const known = before.filter((each) => wanted.includes(each));
  return [...known, ...wanted.filter((each) => !known.includes(each))];
}

/**
 * Removes the bridge. Its ports return to the home bridge with the memberships that they have on
 * the router, or else to the VLAN of the interface `lan`.
 */
export function removeIptv(draft: Draft): void {
  const ports = iptvOf(draft)?.ports ?? [];
  const found = draft.all('network').filter((each) => {
    return (
      each.section === INTERFACE ||
      text(each, each.type === 'device' ? 'name' : 'device') === BRIDGE
    );
  });
  draft.remove('network', ...found.map(({ section }) => section));
  const home = homeOf(draft);
  if (!home) return;
  const before = list(draft.original('network', home.section.section), 'ports');
  draft.set('network', home.section.section, { ports: restored(before, home.ports, ports) });
  const vlans = vlansOf(draft, home.name);
  const lan = vlans.find((vlan) => vlan.interface?.section === 'lan') ?? vlans[0];
  for (const { section } of vlans) {
    const was = list(draft.original('network', section.section), 'ports');
    const isBack = (entry: string) => ports.includes(memberOf(entry)[0]);
    const stays = ports.filter((port) => before.includes(port));
    const back = [
      ...was.filter(isBack),
      ...(section === lan?.section ? ports.filter((port) => !stays.includes(port)) : []).map(
        (port) => `${port}:u*`,
      ),
    ];
    if (back.length === 0) continue;
    draft.set('network', section.section, { ports: restored(was, list(section, 'ports'), back) });
  }
}
