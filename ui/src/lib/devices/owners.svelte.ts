// SPDX-License-Identifier: GPL-2.0-or-later

import type { Device } from '../api/types';
import { poll } from '../live/poll.svelte';
import type { App } from '../shell/app.svelte';

/** Interval of the requests; addresses rarely change their device. */
const OWNERS_MS = 30_000;

const macsOf = (devices: readonly Device[]): ReadonlyMap<string, string> =>
  new Map(devices.flatMap(({ addresses, mac }) => addresses.map((each) => [each, mac] as const)));

/** The devices of addresses. Call this while a component is created. */
export function ownersOf({ api, live }: Pick<App, 'api' | 'live'>) {
  let byAddress = $state.raw<ReadonlyMap<string, string>>(new Map());
  poll(live, OWNERS_MS, async (signal) => {
    const { devices } = await api.call('devices', {}, signal);
    byAddress = macsOf(devices);
  });
  /** Returns the MAC of the device with the address; `undefined` if there is none. */
  return (address: string): string | undefined => byAddress.get(address);
}
