// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, describe, expect, it } from 'vitest';
import type { Health, Status } from '../api/types';
import { setLanguage } from '../i18n/t';
import { textOf } from './live';

describe('a finding of the daemon', () => {
  afterEach(() => setLanguage('en'));

  const engine: Status['engine'] = {
    wanted: 'ebpf',
    active: 'off',
    why: 'being applied',
    cause: { code: 'applying', params: {} },
    source: 'config',
    devices: [],
    applied_ms: 0,
    packet_rules: [],
    hardware_unused: false,
    hardware_ports: null,
    hardware_full: null,
    hardware_counts: null,
    revocation: { count: 0, flows: 0, at_ms: 0, why: '', cause: { code: '', params: {} } },
  };
  const none = { problems: [], engine };

  const open: Health = {
    code: 'system-wan-open',
    level: 'error',
    params: {},
    text: 'as the daemon says it',
    open: [
      { zone: 'wan', to: '' },
      { zone: 'wan', to: 'lan' },
      { zone: 'lte', to: '*' },
    ],
  };

  it('about an exposed router is in the language of the page', async () => {
    expect(textOf(open, none)).toBe(
      'Exposed to the Internet: anyone can reach the router itself (from zone wan), ' +
        'zone lan (from zone wan), every zone (from zone lte). Close it under Firewall.',
    );
    await setLanguage('de');
    expect(textOf(open, none)).toContain(
      'Von dort erreicht jeder den Router selbst (aus Zone wan)',
    );
  });

  it('has its parameters formatted in the language of the page', async () => {
    const full: Health = {
      code: 'conntrack-full',
      level: 'warning',
      params: { count: 950, limit: 1000 },
      text: 'as the daemon says it',
    };
    expect(textOf(full, none)).toBe('Conntrack is nearly full: 950 of 1000.');
    await setLanguage('de');
    expect(textOf(full, none)).toBe('Conntrack ist fast voll: 950 von 1000.');
  });

  it('about a WAN interface names the known reason', () => {
    const down = (hindrance: string): Health => ({
      code: 'wan-down',
      level: 'error',
      params: { name: 'wan', port: 'eth0', hindrance },
      text: '',
    });
    expect(textOf(down(''), none)).toBe('The Internet connection (wan) is down.');
    expect(textOf(down('port-down'), none)).toBe('wan is down: its port eth0 is switched off.');
    expect(textOf(down('no-link'), none)).toBe('wan is down: its port has no link.');
    const failed = (error: string): Health => {
      const found = down('failed');
      return { ...found, params: { ...found.params, error, device: 'wan.35' } };
    };
    expect(textOf(failed('DEVICE_CLAIM_FAILED'), none)).toContain('could not claim wan.35. Remove');
    expect(textOf(failed('AUTH_TOPEER_FAILED'), none)).toContain('user name or password');
    expect(textOf(failed('NO_DEVICE'), none)).toContain('netifd reports NO_DEVICE. Reconnect');
  });

  it('has its reason in the language of the page', async () => {
    await setLanguage('de');
    const differs: Health = {
      code: 'flowtable-differs',
      level: 'error',
      params: { wanted: 'ebpf', active: 'off', why: engine.why },
      text: '',
    };
    expect(textOf(differs, none)).toContain('wird angewendet');
    const refused: Health = {
      code: 'config-refused',
      level: 'error',
      params: { why: 'in English' },
      text: '',
    };
    const problem: Status['problems'][number] = {
      config: 'fastpath',
      section: 'main',
      option: 'engine',
      value: 'warp',
      code: 'not-listed',
      params: { value: 'warp', names: 'off, ebpf' },
      text: 'in English',
    };
    expect(textOf(refused, { problems: [problem], engine })).toContain(
      'main.engine: „warp“ ist keiner der Werte off, ebpf.',
    );
    expect(textOf(refused, none)).toContain('in English');
  });

  it('about a device without a program has its reason in the language of the page', async () => {
    const partly = (params: Health['params']): Health => ({
      code: 'ebpf-partly',
      level: 'warning',
      params: { why: 'wan: in English', ...params },
      text: '',
    });
    await setLanguage('de');
    const params = { inner: 'device no-xdp', device: 'wan' };
    expect(textOf(partly(params), none)).toContain('wan: der Treiber von wan unterstützt kein XDP');
    expect(textOf(partly({ inner: 'not-installed' }), none)).toContain('nicht installiert');
    expect(textOf(partly({ inner: '' }), none)).toContain('wan: in English');
    expect(textOf(partly({}), none)).toContain('wan: in English');
  });

  it('with an unknown code is in English', () => {
    const newer = { code: 'newer', level: 'notice', params: {}, text: 'Newer.' };
    expect(textOf(newer as unknown as Health, none)).toBe('Newer.');
  });
});
