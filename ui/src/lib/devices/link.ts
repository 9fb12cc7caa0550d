// SPDX-License-Identifier: GPL-2.0-or-later

import { addressOf } from '../shell/route.svelte';

/** Returns the address of a device's page. */
export const pageOf = (mac: string): string =>
  addressOf('devices', new URLSearchParams({ mac: mac.toLowerCase() }));

/** Returns the address of the flows of these addresses. */
export const flowsOf = (addresses: readonly string[]): string =>
  addressOf('flows', new URLSearchParams({ host: addresses.join(',') }));
