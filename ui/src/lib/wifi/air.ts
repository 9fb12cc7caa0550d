// SPDX-License-Identifier: GPL-2.0-or-later

import { Fault } from '../api/errors';
import type { Radio } from '../api/types-wireless';
import type { App } from '../shell/app.svelte';

export type Air = ReadonlyMap<string, Radio>;

/**
 * Reports whether the name is that of an access point's device in OpenWrt: `phy0-ap0`,
 * `phy0.1-ap0`.
 */
export const isPoint = (device: string): boolean => /^phy[\d.]+-ap\d+$|^wlan\d/.test(device);

export type State = 'up' | 'off' | 'pending' | 'failed';

/** Returns the state of the radios; empty if an older router lacks the object. */
export async function airOf(app: App, signal: AbortSignal): Promise<Air> {
  try {
    const reply = await app.api.request('fastpath.wireless', 'status', {}, signal);
    return new Map((reply['radios'] as Radio[]).map((radio) => [radio.name, radio]));
  } catch (fault) {
    if (fault instanceof Fault && ['absent', 'gone', 'denied'].includes(fault.kind))
      return new Map();
    throw fault;
  }
}

export function stateOf(air: Air, radio: string): State {
  const now = air.get(radio);
  if (now?.up) return 'up';
  if (now?.pending) return 'pending';
  return now?.failed ? 'failed' : 'off';
}

export function namesOf(air: Air): ReadonlyMap<string, string> {
  const all = [...air.values()].flatMap(({ ssids }) => ssids);
  return new Map(all.filter(({ device }) => device !== '').map((each) => [each.device, each.ssid]));
}
