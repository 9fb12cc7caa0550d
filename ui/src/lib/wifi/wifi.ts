// SPDX-License-Identifier: GPL-2.0-or-later

import type { Draft } from '../form/draft.svelte';
import { isOn, list, MASK, text, type Options, type Section } from '../form/sections';

const FILE = 'wireless';

export const radiosOf = (draft: Draft): readonly Section[] => draft.all(FILE, 'wifi-device');

/** Returns the access points; stations, meshes and monitors are not edited here. */
export const pointsOf = (draft: Draft): readonly Section[] =>
  draft.all(FILE, 'wifi-iface').filter((each) => text(each, 'mode', 'ap') === 'ap');

export const othersOf = (draft: Draft): number =>
  draft.all(FILE, 'wifi-iface').length - pointsOf(draft).length;

export const isRadioOn = (radio: Section | undefined): boolean =>
  radio !== undefined && !isOn(radio, 'disabled');

/** Returns the radios of an SSID; a list means several. */
const radiosOfPoint = (draft: Draft, point: Section): Section[] =>
  list(point, 'device').flatMap((name) => draft.get(FILE, name) ?? []);

export const bandOf = (draft: Draft, point: Section): string =>
  text(radiosOfPoint(draft, point)[0], 'band');

/** Reports whether an SSID and at least one of its radios are enabled. */
export const isPointOn = (draft: Draft, point: Section): boolean =>
  !isOn(point, 'disabled') && radiosOfPoint(draft, point).some(isRadioOn);

/** Encryptions in the order of the choices, default first. */
export const encryptions = ['sae-mixed', 'sae', 'psk2', 'owe', 'none'] as const;

export const needsKey = (encryption: string): boolean => /^(sae|psk)/.test(encryption);

/** Encryptions that 6 GHz forbids, and their replacements. */
const at6GHz: Record<string, string> = { 'sae-mixed': 'sae', psk2: 'sae', none: 'owe' };

/** Returns the encryption, or its replacement in the 6 GHz band. */
export const encryptionAt = (radio: Section | undefined, encryption: string): string =>
  (radio?.values['band'] === '6g' && at6GHz[encryption]) || encryption;

const channels: Record<string, readonly number[]> = {
  '2g': [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
  '5g': [
    36, 40, 44, 48, 52, 56, 60, 64, 100, 104, 108, 112, 116, 120, 124, 128, 132, 136, 140, 149, 153,
    157, 161, 165,
  ],
  '6g': [
    1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45, 49, 53, 57, 61, 65, 69, 73, 77, 81, 85, 89, 93,
  ],
};

export const channelsOf = (band: string): string[] => [
  'auto',
  ...(channels[band] ?? []).map(String),
];

/** Options of an SSID that depend on the build of hostapd. */
export const features = ['ieee80211r', 'ieee80211k', 'bss_transition'] as const;

export interface Wanted extends Partial<Record<(typeof features)[number], boolean>> {
  ssid: string;
  encryption: string;
  key: string;
  network: string;
  isolate: boolean;
  /** Section name of a radio; empty for all radios. */
  radio: string;
}

export type Wrong = 'ssid' | 'key';

export function isKey(key: string): boolean {
  return key === MASK || /^[ -~]{8,63}$/.test(key) || /^[\da-f]{64}$/i.test(key);
}

export function wrongWith({ ssid, encryption, key }: Wanted): Wrong[] {
  const bytes = new TextEncoder().encode(ssid).length;
  const wrong: Wrong[] = [];
  if (bytes < 1 || bytes > 32) wrong.push('ssid');
  if (needsKey(encryption) && !isKey(key)) wrong.push('key');
  return wrong;
}

/** Returns the options of a section; an empty value removes an option. */
function values({ ssid, encryption, key, network, isolate, ...wanted }: Wanted): Options {
  const named = features.filter((name) => wanted[name] !== undefined);
  return {
    ...Object.fromEntries(named.map((name) => [name, wanted[name] ? '1' : ''])),
    ssid,
    encryption,
    key: needsKey(encryption) ? key : '',
    network,
    isolate: isolate ? '1' : '',
  };
}

export function addPoint(draft: Draft, wanted: Wanted): void {
  for (const radio of radiosOf(draft)) {
    if (wanted.radio !== '' && wanted.radio !== radio.section) continue;
    const encryption = encryptionAt(radio, wanted.encryption);
    draft.add(FILE, 'wifi-iface', {
      device: radio.section,
      mode: 'ap',
      ...values({ ...wanted, encryption }),
    });
  }
}

export function editPoint(draft: Draft, point: Section, wanted: Wanted): void {
  const radio = radiosOf(draft).find(({ section }) => section === point.values['device']);
  const encryption = encryptionAt(radio, wanted.encryption);
  draft.set(FILE, point.section, values({ ...wanted, encryption }));
}

export function removePoint(draft: Draft, point: Section): void {
  draft.remove(FILE, point.section);
}

export function setRadio(draft: Draft, radio: Section, on: boolean): void {
  draft.set(FILE, radio.section, { disabled: on ? '' : '1' });
}

/** Width in MHz of a value of `htmode`; undefined without one. */
export const widthOf = (mode: string): number | undefined =>
  Number(/\d+/.exec(mode)?.[0]) || undefined;

export const countryOf = (draft: Draft): string =>
  radiosOf(draft)
    .map((radio) => text(radio, 'country'))
    .find(Boolean) ?? '';

/** All radios have the same country, that of the router. */
export function setCountry(draft: Draft, country: string): void {
  for (const { section } of radiosOf(draft)) draft.set(FILE, section, { country });
}

export const isCountry = (country: string): boolean => /^([A-Z]{2}|00)?$/.test(country);

/** Assigns an SSID to a network, as a port of its bridge; empty for none. */
export function setNetwork(draft: Draft, point: Section, network: string): void {
  draft.set(FILE, point.section, { network });
}

/** Returns the interfaces that an SSID can use, which are those on a bridge. */
export function networksOf(draft: Draft): string[] {
  const bridges = draft
    .all('network', 'device')
    .filter((each) => text(each, 'type') === 'bridge')
    .map((each) => text(each, 'name'));
  return draft
    .all('network', 'interface')
    .filter((each) => bridges.includes(text(each, 'device').replace(/\.\d+$/, '')))
    .map(({ section }) => section);
}

export function followName(draft: Draft, from: string, to: string): void {
  for (const point of draft.all(FILE, 'wifi-iface')) {
    const networks = list(point, 'network');
    if (!networks.includes(from)) continue;
    const renamed = networks.map((each) => (each === from ? to : each));
    draft.set(FILE, point.section, { network: renamed.join(' ') });
  }
}

/** Removes a network from the SSIDs, and SSIDs without another network. */
export function leaveNetwork(draft: Draft, name: string): void {
  removeNetwork(draft, draft.all(FILE, 'wifi-iface'), name);
}

/** Removes a network from these SSIDs, and SSIDs without another network. */
export function removeNetwork(draft: Draft, points: readonly Section[], name: string): void {
  for (const point of points) {
    const networks = list(point, 'network');
    if (!networks.includes(name)) continue;
    if (networks.length === 1) draft.remove(FILE, point.section);
    else {
      const rest = networks.filter((each) => each !== name);
      draft.set(FILE, point.section, { network: rest.join(' ') });
    }
  }
}
