// SPDX-License-Identifier: GPL-2.0-or-later

import type { Draft } from '../form/draft.svelte';
import { list } from '../form/sections';
import { addVlan, bridgesOf, join, removeVlan, vlansOf } from '../network/matrix';

const NAME = 'guest';
/** First VLAN id to try, which is also the third byte of the network's address. */
const FIRST = 30;

/** Returns the bridge of the guests' VLAN, which must be VLAN-aware. */
const bridgeOf = (draft: Draft) =>
  bridgesOf(draft).find(({ name }) => vlansOf(draft, name).length > 0);

/** Reports whether a guest network can be added to the bridge. */
export const isGuestBridge = (draft: Draft, name: string): boolean =>
  bridgeOf(draft)?.name === name &&
  !draft.all('network', 'interface').some(({ section }) => section === NAME);

export const guestPorts = (draft: Draft): readonly string[] => bridgeOf(draft)?.ports ?? [];

export function guestsOf(draft: Draft) {
  const bridge = bridgeOf(draft);
  if (!bridge) return undefined;
  return vlansOf(draft, bridge.name).find((vlan) => vlan.interface?.section === NAME);
}

/** Adds a guest network with an unused VLAN and subnet, and its own zone. */
export function addGuests(draft: Draft): void {
  const bridge = bridgeOf(draft);
  if (!bridge) return;
  const numbers = vlansOf(draft, bridge.name).map(({ vid }) => Number(vid));
  const all = draft.all('network', 'interface').flatMap((each) => list(each, 'ipaddr'));
  let vid = FIRST;
  while (numbers.includes(vid) || all.some((each) => each.startsWith(`10.10.${vid}.`))) vid += 1;
  const address = `10.10.${vid}.1/24`;
  addVlan(draft, bridge.name, { vid: String(vid), name: NAME, address, zone: '+', dhcp: true });
}

export function removeGuests(draft: Draft): void {
  const guests = guestsOf(draft);
  if (guests) removeVlan(draft, guests);
}

export function guestPort(draft: Draft): string {
  const members = [...(guestsOf(draft)?.members ?? [])];
  return members.find(([, member]) => member === 'u*')?.[0] ?? '';
}

export function setGuestPort(draft: Draft, port: string): void {
  const [now, guests] = [guestPort(draft), guestsOf(draft)];
  if (guests && now) join(draft, guests, now, '');
  const after = guestsOf(draft);
  if (after && port) join(draft, after, port, 'u*');
}
