// SPDX-License-Identifier: GPL-2.0-or-later

import type { Draft } from '../form/draft.svelte';
import { list, text, type Section } from '../form/sections';
import {
  addPoint,
  encryptionAt,
  isRadioOn,
  needsKey,
  pointsOf,
  radiosOf,
  setRadio,
  removeNetwork,
} from '../wifi/wifi';

export const HOME = 'lan';

const into = (draft: Draft, network: string): Section[] =>
  pointsOf(draft).filter((each) => list(each, 'network').includes(network));

const at = (points: readonly Section[], radio: Section) =>
  points.find((each) => list(each, 'device').includes(radio.section));

export const wifiIsOn = (draft: Draft): boolean => radiosOf(draft).some(isRadioOn);

/** Returns SSID and key of the network's first SSID; `undefined` if it has none. */
export function settingOf(
  draft: Draft,
  network: string,
): { ssid: string; key: string } | undefined {
  const [first] = into(draft, network);
  if (!first) return undefined;
  const key = needsKey(text(first, 'encryption', 'none')) ? text(first, 'key') : '';
  return { ssid: text(first, 'ssid'), key };
}

/** Returns the problem that the last review found with the network's SSIDs. */
export const problemOf = (draft: Draft, network: string, option: 'ssid' | 'key'): string =>
  into(draft, network)
    .map((each) => draft.problem('wireless', each.section, option))
    .find(Boolean) ?? '';

/** Turns all radios on or off. When on, each radio has an SSID of the home network. */
export function setWifi(draft: Draft, on: boolean): void {
  for (const radio of radiosOf(draft)) setRadio(draft, radio, on);
  if (on) setPoints(draft, HOME, settingOf(draft, HOME) ?? { ssid: '', key: '' });
}

/** Sets SSID and key of a network at every radio. A guest network without a key is open. */
export function setPoints(
  draft: Draft,
  network: string,
  { ssid, key }: { ssid: string; key: string },
): void {
  const isolate = network !== HOME;
  for (const radio of radiosOf(draft)) {
    const open = isolate && key === '';
    const encryption = encryptionAt(radio, open ? 'none' : 'sae-mixed');
    const known = at(into(draft, network), radio);
    if (!known) {
      const { section } = radio;
      addPoint(draft, { ssid, key, encryption, network, isolate, radio: section });
      continue;
    }
    // Keeps the owner's encryption if it needs a key, unlike `none` after the first boot.
    const now = text(known, 'encryption', 'none');
    const kept = !open && needsKey(now) ? encryptionAt(radio, now) : encryption;
    draft.set('wireless', known.section, { ssid, key: open ? '' : key, encryption: kept });
    draft.set('wireless', known.section, { disabled: '' });
  }
}

export const removePoints = (draft: Draft, network: string): void =>
  removeNetwork(draft, pointsOf(draft), network);
