// SPDX-License-Identifier: GPL-2.0-or-later
/** One SSID and key into a network at every radio: encryption, guests, and which choices of the
 * owner stay. */

import type { Draft } from '../form/draft.svelte';
import { list, text, type Section } from '../form/sections';
import {
  addPoint,
  encryptionFor,
  isRadioOn,
  needsKey,
  pointsOf,
  radiosOf,
  setRadio,
  takeOut,
} from '../wifi/wifi';

/** The network of the owner's own devices. */
export const HOME = 'lan';

/** Every radio's SSIDs that lead into a network. */
const into = (draft: Draft, network: string): Section[] =>
  pointsOf(draft).filter((each) => list(each, 'network').includes(network));

const at = (points: readonly Section[], radio: Section) =>
  points.find((each) => list(each, 'device').includes(radio.section));

export const wifiIsOn = (draft: Draft): boolean => radiosOf(draft).some(isRadioOn);

/** The settings of the first SSID into a network; one with OpenWrt's own name counts as none. */
export function settingOf(
  draft: Draft,
  network: string,
): { ssid: string; key: string } | undefined {
  const [first] = into(draft, network);
  if (!first) return undefined;
  const key = needsKey(text(first, 'encryption', 'none')) ? text(first, 'key') : '';
  return { ssid: text(first, 'ssid'), key };
}

/** The problem of a network's SSIDs in the last review. */
export const problemOf = (draft: Draft, network: string, option: 'ssid' | 'key'): string =>
  into(draft, network)
    .map((each) => draft.problem('wireless', each.section, option))
    .find(Boolean) ?? '';

/** Switches the radios; one that never had an SSID of the owner's gets one. */
export function setWifi(draft: Draft, on: boolean): void {
  for (const radio of radiosOf(draft)) setRadio(draft, radio, on);
  if (on) setPoints(draft, HOME, settingOf(draft, HOME) ?? { ssid: '', key: '' });
}

/** The same name and key into a network at every radio; without a key it is open. */
export function setPoints(
  draft: Draft,
  network: string,
  { ssid, key }: { ssid: string; key: string },
): void {
  const isolate = network !== HOME;
  for (const radio of radiosOf(draft)) {
    const open = isolate && key === '';
    const encryption = open ? 'none' : encryptionFor(text(radio, 'band'));
    const known = at(into(draft, network), radio);
    if (!known) {
      const { section } = radio;
      addPoint(draft, { ssid, key, encryption, network, isolate, radio: section });
      continue;
    }
    // The owner's choice stays while it takes a key; 'none' of the first boot does not.
    const now = text(known, 'encryption', 'none');
    const kept = !open && needsKey(now) ? now : encryption;
    draft.set('wireless', known.section, { ssid, key: open ? '' : key, encryption: kept });
    draft.set('wireless', known.section, { disabled: '' });
  }
}

/** Takes the SSIDs of a network away. */
export const removePoints = (draft: Draft, network: string): void =>
  takeOut(draft, pointsOf(draft), network);
