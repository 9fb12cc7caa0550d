// SPDX-License-Identifier: GPL-2.0-or-later
/** Defaults of `/etc/config/fastpath`, as in the daemon crates' `settings.rs`. */

import type { Draft } from './draft.svelte';
import type { Value } from './sections';

export const defaults = {
  fastpath: {
    enabled: '1',
    engine: 'flowtable',
    hook: 'auto',
    on_exit: 'keep',
    ipv4: '1',
    ipv6: '1',
    vlan: '1',
    pppoe: '1',
    slow_packets: '0',
    metrics_hosts: '20',
    device_metrics: '0',
    history: '1',
    history_interval: '600',
    history_probes: '1',
  },
  latency: { enabled: '0' },
  ips: {
    enabled: '0',
    mode: 'nfq',
    fail: 'open',
    default: 'inspect',
    budget_bytes: '1048576',
    budget_packets: '0',
    block: '0',
    block_time: '600',
  },
  policy: { enabled: '1', action: 'inspect' },
  rules: { enabled: '1' },
  update: { enabled: '1', hour: '4' },
  cpu: { enabled: '1', profile: 'auto' },
  export: {
    enabled: '1',
    port: '4739',
    protocol: 'udp',
    active_timeout: '60',
    idle_timeout: '15',
    template_refresh: '10',
    domain: '0',
    enterprise: '32473',
  },
  notification: { enabled: '1', format: 'json' },
} as const;

export function defaultOf(type: string, option: string): string {
  const known: Record<string, Record<string, string>> = defaults;
  return known[type]?.[option] ?? '';
}

/** Returns the value to write; empty for a default that the file does not contain. */
export function stored<V extends Value>(
  draft: Draft,
  { config, section, type }: { config: string; section: string; type: string },
  option: string,
  to: V,
  implied = defaultOf(type, option),
): V | '' {
  const written = draft.original(config, section)?.values[option];
  return to === implied && written === undefined ? '' : to;
}
