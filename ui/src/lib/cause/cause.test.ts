// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { setLanguage } from '../i18n/t';
import { reason, type Kind } from './cause';
import german from './de.json';
import english from './en.json';

const schema = new URL('../../../../feeds/fastpathd/src/schema/', import.meta.url);
interface Cause {
  title?: string;
  properties?: { code?: { enum: string[] } };
}

function codes(file: string, title: string): string[] {
  const found: string[] = [];
  JSON.parse(readFileSync(new URL(file, schema), 'utf8'), (_, value: Cause | null) => {
    if (value?.title === title) found.push(...(value.properties?.code?.enum ?? []));
    return value;
  });
  return found.filter((code) => code !== '');
}

const listed: Record<Kind, string[]> = {
  engine: codes('types.json', 'EngineCause'),
  revocation: codes('types.json', 'RevocationCause'),
  ebpf: codes('types.json', 'EbpfCause'),
  ips: codes('types.json', 'IpsCause'),
  latency: codes('types.json', 'LatencyCause'),
  doctor: codes('types.json', 'DoctorStateCause'),
  link: codes('topology.json', 'LinkCause'),
  cpu: codes('cpu.json', 'CpuCause'),
  steering: codes('cpu.json', 'SteeringCause'),
  difference: codes('cpu.json', 'DifferenceCause'),
  export: codes('exports.json', 'ExportCause'),
  rules: codes('ips.json', 'RulesCause'),
  source: codes('ips.json', 'SourceCause'),
  fault: codes('types.json', 'SourceFault'),
  refusal: codes('types.json', 'RefusalCause'),
};

describe.each(Object.entries({ english, german }))('the reasons in %s', (_, catalogue) => {
  it.each(Object.entries(listed))('match the schema: %s', (kind, wanted) => {
    expect(wanted.length).toBeGreaterThan(1);
    const keys = Object.keys(catalogue).filter((key) => key.startsWith(`${kind}.`));
    expect(keys.sort()).toEqual(wanted.map((code) => `${kind}.${code}`).sort());
  });
});

describe('a reason', () => {
  afterEach(() => setLanguage('en'));

  it('is in the language of the page, with its parameters', async () => {
    await setLanguage('de');
    const cause = { code: 'bridge-port', params: { bridge: 'br-lan', devices: 'br-lan.10' } };
    expect(reason('link', { why: 'port of', cause })).toBe(
      'Port der Bridge br-lan, trägt br-lan.10',
    );
  });

  it('is followed by its consequence', async () => {
    await setLanguage('de');
    const cause = { code: 'absent', params: { consequence: 'dropped' } };
    expect(reason('ips', { why: 'Suricata is not running.', cause })).toBe(
      'Suricata läuft nicht. Zu prüfende Verbindungen werden verworfen.',
    );
  });

  it('may contain another reason with its parameters', async () => {
    await setLanguage('de');
    const params = { inner: 'underlying', devices: 'pppoe-wan' };
    expect(reason('link', { why: '', cause: { code: 'engine-off', params } })).toBe(
      'die Engine ist aus (sonst: Port unter pppoe-wan)',
    );
  });

  it('may contain several nested reasons', async () => {
    await setLanguage('de');
    const params = { inner: 'device no-xdp', device: 'wan' };
    expect(reason('engine', { why: '', cause: { code: 'no-program', params } })).toBe(
      'wan: der Treiber von wan unterstützt kein XDP',
    );
  });

  it('of a difference may contain a refusal and a hint', async () => {
    await setLanguage('de');
    const params = { inner: 'ignored irq-unnamed', irq: '45', have: '0-3', wanted: '1' };
    expect(reason('difference', { why: '', cause: { code: 'irq-fixed', params } })).toMatch(
      /^Interrupt 45 darf auf CPU 0-3 eintreffen, geplant ist CPU 1; der Kernel .+; manche/,
    );
  });

  it('of a refusal has its own parameters and those of the nested reason', async () => {
    await setLanguage('de');
    const params = { inner: 'feature-on', said: 'no', feature: 'rx-gro', device: 'lan1' };
    expect(reason('refusal', { why: '', cause: { code: 'step', params } })).toBe(
      'rx-gro von lan1 einschalten: no',
    );
  });

  it('unknown to this page is shown as the router sends it', () => {
    const why = 'something new';
    for (const params of [{}, { inner: 'newer' }, { consequence: 'newer' }])
      expect(reason('link', { why, cause: { code: 'newer', params } })).toBe(why);
    const cause = { code: 'off', params: { consequence: 'newer' } };
    expect(reason('ips', { why, cause })).toBe(why);
    expect(reason('ips', { why })).toBe(why);
    expect(reason('engine', { why: '', cause: { code: '', params: {} } })).toBe('');
  });
});
