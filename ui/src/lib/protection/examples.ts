// SPDX-License-Identifier: GPL-2.0-or-later
import type { Alert, Blocks, Ips } from '../api/types';

/** Example answers for tests: a router with every feature. */
const T = 1_763_700_000_000;

export function anIps(with_: Partial<Ips> = {}): Ips {
  return {
    state: 'inline',
    since_ms: T,
    why: 'Suricata 8.0.3 reads both queues.',
    cause: { code: 'inline', params: {} },
    enabled: true,
    mode: 'nfq',
    fail: 'open',
    block: true,
    suricata: { version: '8.0.3', running: true, uptime_s: 7530, restarts: 1, refused: '' },
    queues: [
      { queue: 0, cpu: 2, bound: true, depth: 3, handled: 1_284_001, dropped: 0 },
      { queue: 1, cpu: 3, bound: true, depth: 0, handled: 1_190_442, dropped: 12 },
    ],
    management_cpus: [0],
    counters: {
      inspected_packets: 2_474_443,
      inspected_bytes: 1_893_221_004,
      uninspected_packets: 0,
      uninspected_bytes: 0,
      accepted: 2_474_401,
      blocked: 42,
      alerts: 58,
      bypassed_flows: 1204,
      spent_flows: 310,
      queue_drops: 12,
    },
    events: {
      connected: true,
      lines: 20_431,
      not_read: 0,
      not_read_alerts: 0,
      not_read_blocked: 0,
      unparsable: 0,
      oversized: 0,
      strangers: 0,
    },
    visible: [
      { kind: 'plain', flows: 812, bytes: 91_000_000, handshakes: 0, named: 0, fingerprinted: 0 },
      {
        kind: 'tls',
        flows: 5210,
        bytes: 612_000_000,
        handshakes: 5240,
        named: 5003,
        fingerprinted: 5190,
      },
      {
        kind: 'encrypted',
        flows: 640,
        bytes: 204_000_000,
        handshakes: 0,
        named: 0,
        fingerprinted: 0,
      },
    ],
    rules: {
      state: 'good',
      loaded: 41_877,
      failed: 0,
      updated_ms: T - 18_000_000,
      checked_ms: T - 18_000_000,
      next_ms: T + 40_000_000,
      message: '41,877 rules of 2 sources.',
      cause: { code: '', params: {} },
      sources: [
        {
          name: 'et',
          url: 'https://rules.example.net/open/suricata-8.0/emerging.rules.tar.gz',
          enabled: true,
          state: 'good',
          message: '',
          cause: { code: '', params: {} },
          rules: 41_820,
          updated_ms: T - 18_000_000,
        },
        {
          name: 'house',
          url: 'http://203.0.113.1/rules/house.tar.gz',
          enabled: true,
          state: 'failed',
          message: 'house.rules, line 12: missing closing parenthesis',
          cause: { code: '', params: {} },
          rules: 57,
          updated_ms: T - 90_000_000,
        },
      ],
    },
    policy: {
      default: 'inspect',
      budget_bytes: 1_048_576,
      budget_packets: 0,
      exempt: ['10.10.10.5'],
      zones: ['lan', 'iot', 'wan', 'mgmt'],
      vlans: [10, 20, 35],
      policies: [
        {
          section: 'cfg0a92bd',
          name: 'cameras',
          enabled: true,
          src: 'iot',
          dest: 'wan',
          src_vlan: 0,
          dest_vlan: 0,
          action: 'always',
        },
        {
          section: 'cfg0b92bd',
          name: 'backup',
          enabled: true,
          src: 'lan',
          dest: '',
          src_vlan: 10,
          dest_vlan: 20,
          action: 'none',
        },
      ],
    },
    ...with_,
  };
}

export function anAlert(id: number, with_: Partial<Alert> = {}): Alert {
  return {
    id,
    at_ms: T + id * 1000,
    action: id % 3 === 0 ? 'allowed' : 'blocked',
    gid: 1,
    sid: 8_100_001,
    rev: 2,
    signature: 'FASTPATH ATTACK_RESPONSE id check returned root',
    category: 'Potentially Bad Traffic',
    severity: 1 + (id % 3),
    proto: 'TCP',
    app: 'http',
    src: '203.0.113.1',
    sport: 80,
    dst: '10.10.10.10',
    dport: 40_000 + id,
    src_name: '',
    dst_name: 'h10',
    direction: 'to_client',
    target: 'isp.example/uid.txt',
    device: 'pppoe-wan',
    flow: id % 2 === 0 ? 900 + id : 0,
    ...with_,
  };
}

export function someBlocks(with_: Partial<Blocks> = {}): Blocks {
  return {
    enabled: true,
    time_s: 600,
    limit: 1024,
    refused: 1,
    packets: 310,
    blocks: [
      {
        address: '203.0.113.1',
        name: 'isp',
        sid: 8_100_001,
        reason: 'FASTPATH ATTACK_RESPONSE id check returned root',
        since_ms: T,
        until_ms: T + 600_000,
      },
      {
        address: '2001:db8:ffff::1',
        name: '',
        sid: 8_100_001,
        reason: 'FASTPATH ATTACK_RESPONSE id check returned root',
        since_ms: T - 60_000,
        until_ms: T + 540_000,
      },
    ],
    ...with_,
  };
}
