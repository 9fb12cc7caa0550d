// SPDX-License-Identifier: GPL-2.0-or-later
/** The state of radios as netifd has it, names of SSIDs by device, and which devices are access
 * points. */

import { Fault } from '../api/errors';
import type { Radio } from '../api/types-wireless';
import type { App } from '../shell/app.svelte';

/** The SSIDs in operation now: radios by their section. */
export type Air = ReadonlyMap<string, Radio>;

/** Whether a device's name is one that OpenWrt gives to access points: `phy0-ap0`, `phy0.1-ap0`. */
export const isPoint = (device: string): boolean => /^phy[\d.]+-ap\d+$|^wlan\d/.test(device);

export type State = 'up' | 'off' | 'pending' | 'failed';

/** The state from netifd; empty where the router has an older fastpath without this object. */
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

/** Names of SSIDs by their network device. */
export function namesOf(air: Air): ReadonlyMap<string, string> {
  const all = [...air.values()].flatMap(({ ssids }) => ssids);
  return new Map(all.filter(({ device }) => device !== '').map((each) => [each.device, each.ssid]));
}
