// SPDX-License-Identifier: GPL-2.0-or-later

import { Fault } from '../api/errors';
import type { Radio, Ssid, Station } from '../api/types-wireless';
import { count, rate, spelled, text as textOf } from '../format';
import type { App } from '../shell/app.svelte';
import { w } from './messages';

export type Air = ReadonlyMap<string, Radio>;

const ssidsOf = (air: Air): Ssid[] => [...air.values()].flatMap(({ ssids }) => ssids);

export type State = 'up' | 'off' | 'pending' | 'failed';

/** Returns the state of the radios; empty if an older router lacks the object. */
export async function airOf(app: App, signal?: AbortSignal): Promise<Air> {
  try {
    const reply = await app.api.request('fastpath.wireless', 'status', {}, signal);
    return new Map((reply['radios'] as Radio[]).map((radio) => [radio.name, radio]));
  } catch (fault) {
    if (fault instanceof Fault && ['absent', 'gone', 'denied'].includes(fault.kind))
      return new Map();
    throw fault;
  }
}

/** Returns the options of SSIDs that hostapd supports. */
export const featuresOf = (air: Air): readonly string[] =>
  [...air.values()].flatMap(({ features }) => features);

/** Returns the first SSID of a radio whose channel is known. */
export const measuredOf = (air: Air, radio: string): Ssid | undefined =>
  air.get(radio)?.ssids.find(({ width_mhz }) => width_mhz !== undefined);

/** Returns the state of a radio; undefined before an answer, and from an older router. */
export function stateOf(air: Air, radio: string): State | undefined {
  const now = air.get(radio);
  if (!now) return undefined;
  if (now.up) return 'up';
  if (now.pending) return 'pending';
  return now.failed ? 'failed' : 'off';
}

export function stateName(air: Air, radio: string): string {
  const state = stateOf(air, radio);
  return state ? w(`state.${state}`) : '';
}

export function namesOf(air: Air): ReadonlyMap<string, string> {
  return new Map(
    ssidsOf(air)
      .filter(({ device }) => device !== '')
      .map((each) => [each.device, each.ssid]),
  );
}

type Connection = Station & { point: Ssid };

/** Returns the connection of a device; undefined if no access point has it as a station. */
export function stationOf(air: Air, mac: string): Connection | undefined {
  for (const point of ssidsOf(air)) {
    const station = point.stations?.find((each) => each.mac.toLowerCase() === mac);
    if (station) return { ...station, point };
  }
  return undefined;
}

/**
 * Returns the number of stations of a section, on all of its radios; undefined if hostapd does not
 * answer for one.
 */
export function stationsAt(air: Air, section: string): number | undefined {
  const points = ssidsOf(air).filter((each) => each.section === section);
  if (points.length === 0 || points.some(({ stations }) => !stations)) return undefined;
  return points.reduce((sum, { stations }) => sum + (stations?.length ?? 0), 0);
}

/** Returns the band and the number of the channel at a frequency (IEEE 802.11-2020, 17.3.8.4.2). */
export function channelAt(mhz: number): { band: '2g' | '5g' | '6g' | '60g'; channel: number } {
  if (mhz < 2484) return { band: '2g', channel: (mhz - 2407) / 5 };
  if (mhz === 2484) return { band: '2g', channel: 14 };
  if (mhz < 5945) return { band: '5g', channel: (mhz - 5000) / 5 };
  if (mhz <= 45_000) return { band: '6g', channel: (mhz - 5950) / 5 };
  return { band: '60g', channel: (mhz - 56_160) / 2160 };
}

/** Describes a connection: SSID, channel, signal and bit rates, as far as they are known. */
export function connectionOf({ point, signal_dbm, down_kbit, up_kbit }: Connection): string {
  const { band, channel } = channelAt(point.frequency_mhz ?? 0);
  const ssid = spelled(point.ssid);
  return [
    point.frequency_mhz ? w('station', { ssid, band: w(`band.${band}`), channel }) : ssid,
    ...(signal_dbm === undefined ? [] : [w('signal', { dbm: count(signal_dbm) })]),
    ...(down_kbit === undefined ? [] : [`↓ ${textOf(rate(down_kbit * 1000))}`]),
    ...(up_kbit === undefined ? [] : [`↑ ${textOf(rate(up_kbit * 1000))}`]),
  ].join(' · ');
}
