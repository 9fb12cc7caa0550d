// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Fault } from '../api/errors';
import { setLanguage } from '../i18n/t';
import { Change, Refusal, CONFIRM_S, type Wanted } from './change.svelte';
import { Draft } from './draft.svelte';
import { consents, dangers, type Exposure } from './exposure';
import { editsOf, type Section } from './sections';

const section = (name: string, type: string, values: Section['values'] = {}): Section => ({
  section: name,
  type,
  anonymous: name.startsWith('cfg'),
  values,
});

const bridge = section('cfg02', 'device', { name: 'br-lan', ports: ['lan1', 'lan2'] });
const lan = section('lan', 'interface', { proto: 'static', ipaddr: ['10.0.0.1/24'] });
const guest = section('guest', 'interface', { proto: 'none' });
const file = [bridge, lan, guest];

describe('edits', () => {
  it('of equal files are empty, in any order of options', () => {
    const turned = { ...lan, values: { ipaddr: ['10.0.0.1/24'], proto: 'static' } };
    expect(editsOf('network', file, [bridge, turned, guest])).toEqual([]);
  });

  it('delete, set, unset and add exactly the differences', () => {
    const changed = { ...lan, values: { proto: 'dhcp', mtu: '1400' } };
    const added = section('iot', 'interface', { proto: 'none', dns: [] });
    expect(editsOf('network', file, [bridge, changed, added])).toEqual([
      { config: 'network', op: 'delete', section: 'guest' },
      {
        config: 'network',
        op: 'set',
        section: 'lan',
        values: { proto: 'dhcp', ipaddr: null, mtu: '1400' },
      },
      {
        config: 'network',
        op: 'add',
        type: 'interface',
        section: 'iot',
        values: { proto: 'none' },
      },
    ]);
  });

  it('set values under the old name before a rename', () => {
    const renamed = section('visitors', 'interface', { proto: 'static' });
    const was = new Map([['visitors', 'guest']]);
    expect(editsOf('network', file, [bridge, lan, renamed], was)).toEqual([
      { config: 'network', op: 'set', section: 'guest', values: { proto: 'static' } },
      { config: 'network', op: 'rename', section: 'guest', name: 'visitors' },
    ]);
  });

  it('reorder only sections that would be misplaced', () => {
    const rule = { ...section('new1', 'rule'), anonymous: true };
    expect(editsOf('network', file, [...file, rule])).toEqual([
      { config: 'network', op: 'add', type: 'rule', id: 'new1', values: {} },
    ]);
    expect(editsOf('network', file, [rule, ...file]).at(-1)).toEqual({
      config: 'network',
      op: 'order',
      sections: ['new1', 'cfg02', 'lan', 'guest'],
    });
  });
});

describe('exposures to the Internet by a change', () => {
  const exposed = (code: string, to: string, zone = 'wan'): Exposure => ({
    code,
    zone,
    to,
    text: 'the router’s own text',
  });

  it('have one sentence each; the router’s text for an unknown kind', () => {
    const sentences = dangers([
      exposed('input', ''),
      exposed('forward', 'lan'),
      exposed('forward', '*'),
      exposed('rule', ''),
      exposed('rule', ''),
      exposed('tunnel', 'lan'),
    ]);
    expect(sentences).toEqual([
      expect.stringContaining('connect to the router itself (from zone wan)'),
      expect.stringContaining('hosts in zone lan (from zone wan)'),
      expect.stringContaining('hosts in all zones (from zone wan)'),
      expect.stringContaining('A firewall rule'),
      'the router’s own text',
    ]);
  });

  it('need one consent per zone, which names everything that it exposes', () => {
    const all = [
      exposed('input', ''),
      exposed('forward', 'lan'),
      exposed('rule', ''),
      exposed('forward', 'iot', 'vpn'),
    ];
    expect(consents(all)).toEqual([
      { zone: 'wan', text: 'Expose to the Internet (zone wan): the router, zone lan' },
      { zone: 'vpn', text: 'Expose to the Internet (zone vpn): zone iot' },
    ]);
    expect(consents([])).toEqual([]);
  });
});

/** A router that records requests and gives set answers. */
class Rpcd {
  asked: [method: string, args: Record<string, unknown>][] = [];
  answers: Record<string, unknown> = {};

  request = (object: string, method: string, args: object): Promise<Record<string, unknown>> => {
    if (object === 'fastpath') return Promise.resolve({ wan: [] });
    expect(object).toBe('fastpath.change');
    this.asked.push([method, args as Record<string, unknown>]);
    const found = this.answers[method] ?? {};
    const answer: unknown = typeof found === 'function' ? (found as () => unknown)() : found;
    if (answer instanceof Error) return Promise.reject(answer);
    return Promise.resolve(answer as Record<string, unknown>);
  };

  get methods() {
    return this.asked.map(([method]) => method);
  }
}

describe('a draft', () => {
  let rpcd: Rpcd;
  let draft: Draft;

  beforeEach(async () => {
    rpcd = new Rpcd();
    rpcd.answers['get'] = { configs: { network: file, firewall: [] } };
    draft = new Draft(new Change(rpcd, new Map() as never, 'router').router);
    await draft.load(['network', 'firewall']);
  });

  it('has no edits before the first edit and after a discard', () => {
    expect(draft.edits).toEqual([]);
    draft.set('network', 'lan', { mtu: '1400' });
    const name = draft.add('firewall', 'zone', { name: 'guest', network: ['guest'] });
    expect(draft.edits.map(({ config, op }) => `${config} ${op}`)).toEqual([
      'network set',
      'firewall add',
    ]);
    draft.remove('firewall', name);
    draft.set('network', 'lan', { mtu: '' });
    expect(draft.edits).toEqual([]);
    draft.remove('network', 'lan');
    draft.discard();
    expect(draft.edits).toEqual([]);
  });

  it('keeps the original name of a section that is renamed twice', () => {
    draft.rename('network', 'guest', 'a');
    draft.rename('network', 'a', 'visitors');
    expect(draft.edits).toEqual([
      { config: 'network', op: 'rename', section: 'guest', name: 'visitors' },
    ]);
  });

  it('drops the problem of an option when its value changes', () => {
    const wrong = (section: string, option: string) => ({
      config: 'network',
      section,
      option,
      code: 'missing',
      text: 'missing',
    });
    draft.problems = [wrong('lan', 'mtu'), wrong('lan', 'ipaddr'), wrong('guest', 'proto')];
    draft.set('network', 'lan', { mtu: '1400' });
    expect(draft.problem('network', 'lan', 'mtu')).toBe('');
    expect(draft.problem('network', 'lan', 'ipaddr')).toBe('A value is required.');
    draft.remove('network', 'guest');
    expect(draft.problems).toHaveLength(1);
  });

  it('reports the router’s problems with a file until the file is edited', async () => {
    const wrong = { config: 'network', section: 'lan', option: '', code: 'missing', text: '' };
    const { router } = new Change(rpcd, new Map() as never, 'router');
    const reported = new Draft(router, () => [wrong]);
    await reported.load(['network']);
    expect(reported.problem('network', 'lan')).toBe('A value is required.');
    reported.set('network', 'guest', { mtu: '1400' });
    expect(reported.problem('network', 'lan')).toBe('');
  });

  it('moves a section past its neighbour of the same type', () => {
    draft.move('network', 'guest', -1);
    expect(draft.all('network').map((each) => each.section)).toEqual(['cfg02', 'guest', 'lan']);
  });
});

describe('a change', () => {
  const pending = { id: 7, at_ms: 5, user: 'root', note: '', diff: [], left_s: 20 };
  const done = (state: string) => ({ id: 7, at_ms: 5, user: 'root', note: '', diff: [], state });
  let rpcd: Rpcd;
  const network = {
    edits: [{ config: 'network', op: 'delete', section: 'guest' }],
  } satisfies Wanted;
  let storage: Map<string, string>;
  let change: Change;

  const opened = () =>
    new Change(
      rpcd,
      {
        getItem: (key) => storage.get(key) ?? null,
        setItem: (key, value) => void storage.set(key, value),
        removeItem: (key) => void storage.delete(key),
      },
      'router',
    );

  beforeEach(() => {
    vi.useFakeTimers();
    rpcd = new Rpcd();
    storage = new Map();
    rpcd.answers['apply'] = { id: 7, seconds: CONFIRM_S };
    change = opened();
    return () => vi.useRealTimers();
  });

  it('is undone by edits that the router derives', async () => {
    rpcd.answers['undo'] = network;
    await change.check({ undo: 7 });
    await change.apply({ undo: 7 });
    expect(rpcd.methods).toEqual(['undo', 'check', 'undo', 'apply']);
    expect(rpcd.asked[0]?.[1]).toEqual({ id: 7 });
    expect(rpcd.asked[1]?.[1]).toEqual({ ...network, via: 'router' });
    expect(rpcd.asked[3]?.[1]).toMatchObject(network);
  });

  /** Polls the change for `ms` with this `in_force`; returns whether the page confirmed it. */
  async function followed(in_force: boolean | null, ms: number): Promise<boolean> {
    rpcd.answers['pending'] = { pending: { ...pending, in_force }, last: null };
    const stop = new AbortController();
    const following = change.follow(stop.signal);
    await vi.advanceTimersByTimeAsync(ms);
    stop.abort();
    await vi.advanceTimersByTimeAsync(1000);
    await following;
    return rpcd.methods.includes('confirm');
  }

  it('is confirmed once it is in force', async () => {
    await change.apply(network);
    expect(await followed(false, 25_000)).toBe(false);
    expect(await followed(true, 1500)).toBe(true);
  });

  it('counts down from its request, not from when it is in force', async () => {
    const request = rpcd.request.bind(rpcd);
    rpcd.request = async (...args) => {
      if (args[1] === 'apply') await vi.advanceTimersByTimeAsync(25_000);
      return request(...args);
    };
    await change.apply(network);
    expect((change.until_ms - Date.now()) / 1000).toBe(CONFIRM_S - 25);
  });

  it('is confirmed after a timeout if a part of it never comes into force', async () => {
    await change.apply(network);
    expect(await followed(false, 40_000)).toBe(true);
  });

  it('is confirmed after a delay if its state is unknown', async () => {
    await change.apply(network);
    expect(rpcd.asked[0]?.[1]).toMatchObject({ via: 'router', seconds: CONFIRM_S, cut_ok: false });
    expect(await followed(null, 9000)).toBe(false);
    rpcd.answers['pending'] = { pending, last: null };
    const stop = new AbortController();
    const following = change.follow(stop.signal);
    await vi.advanceTimersByTimeAsync(4000);
    expect(rpcd.methods).toContain('confirm');
    rpcd.answers['pending'] = { pending: null, last: done('confirmed') };
    await vi.advanceTimersByTimeAsync(2000);
    await following;
    expect(change.outcome).toBe('kept');
    expect(storage.size).toBe(0);
  });

  it("is shown as kept once the draft has the router's values", async () => {
    const seen: string[] = [];
    const reread = () => {
      seen.push(change.outcome, change.pending === null ? 'ended' : 'pending');
      return Promise.resolve();
    };
    await change.apply(network, {}, '', { reread });
    rpcd.answers['pending'] = { pending: null, last: done('confirmed') };
    await change.refresh();
    expect(seen).toEqual(['', 'pending']);
    expect(change.outcome).toBe('kept');
    await change.refresh();
    expect(seen).toHaveLength(2);
  });

  it('of another user is not overwritten with earlier values of the draft', async () => {
    const files = (target: string) => ({
      configs: {
        fastpath: [{ section: 'a', type: 'policy', anonymous: false, values: { target } }],
      },
    });
    rpcd.answers['get'] = files('one');
    const draft = new Draft(change.router);
    await draft.load(['fastpath']);
    draft.set('fastpath', 'a', { src: 'lan' });
    await change.apply({ edits: draft.edits }, {}, '', { reread: () => draft.load() });
    // Another user's change ends before ours is kept.
    rpcd.answers['get'] = files('two');
    rpcd.answers['pending'] = { pending: null, last: done('confirmed') };
    await change.refresh();
    expect(change.outcome).toBe('kept');
    draft.set('fastpath', 'a', { dest: 'wan' });
    expect(draft.edits).toMatchObject([{ op: 'set', values: { dest: 'wan' } }]);
    expect(draft.get('fastpath', 'a')?.values['target']).toBe('two');
  });

  it('is rolled back at once if the daemon refuses options, which are reported', async () => {
    await change.apply({ edits: [] });
    const problems = [{ config: 'fastpath', section: 'a', option: 'src', code: '', text: 'no' }];
    rpcd.answers['pending'] = { pending: { ...pending, in_force: false, problems }, last: null };
    rpcd.answers['revert'] = () => {
      rpcd.answers['pending'] = { pending: null, last: done('reverted') };
      return {};
    };
    const following = change.follow(new AbortController().signal);
    await vi.advanceTimersByTimeAsync(3000);
    await following;
    expect(rpcd.methods).not.toContain('confirm');
    expect([change.outcome, change.refused]).toEqual(['reverted', problems]);
  });

  it('is confirmed sooner if it cannot disconnect anybody', async () => {
    await change.apply({ edits: [{ config: 'fastpath', op: 'delete', section: 'old' }] });
    rpcd.answers['pending'] = { pending, last: null };
    const stop = new AbortController();
    const following = change.follow(stop.signal);
    await vi.advanceTimersByTimeAsync(4500);
    expect(rpcd.methods).toContain('confirm');
    stop.abort();
    await vi.advanceTimersByTimeAsync(1000);
    await following;
  });

  it('is polled until the router is back, and then shown as rolled back', async () => {
    await change.apply({ edits: [] }, { cut_ok: true });
    rpcd.answers['pending'] = new Fault('unreachable', 'no answer');
    const following = change.follow(new AbortController().signal);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(change.pending).not.toBe(null);
    rpcd.answers['pending'] = { pending: null, last: done('expired') };
    await vi.advanceTimersByTimeAsync(2000);
    await following;
    expect(change.outcome).toBe('expired');
    expect(rpcd.methods).not.toContain('confirm');
  });

  it('still belongs to this page after a reload', async () => {
    await change.apply({ edits: [] });
    rpcd.answers['pending'] = { pending, last: null };
    change = opened();
    await change.refresh();
    expect(change.own).toBe(true);
    rpcd.answers['pending'] = { pending: null, last: done('power-cut') };
    change = opened();
    await change.refresh();
    expect(change.outcome).toBe('power-cut');
  });

  it('of another user is not confirmed', async () => {
    rpcd.answers['pending'] = { pending, last: null };
    const stop = new AbortController();
    const following = change.follow(stop.signal);
    await vi.advanceTimersByTimeAsync(10_000);
    stop.abort();
    await vi.advanceTimersByTimeAsync(1000);
    await following;
    expect(change.own).toBe(false);
    expect(rpcd.methods).not.toContain('confirm');
  });

  it('opens a zone to the Internet only with a consent to that zone', async () => {
    await change.apply(network);
    expect(rpcd.asked[0]?.[1]).not.toHaveProperty('accept_exposure');
    await change.apply(network, { accept_exposure: ['wan'] });
    expect(rpcd.asked[1]?.[1]).toMatchObject({ cut_ok: false, accept_exposure: ['wan'] });
  });

  it('ends established connections only with consent', async () => {
    await change.apply(network);
    expect(rpcd.asked[0]?.[1]).not.toHaveProperty('end_connections');
    await change.apply(network, { end_connections: false });
    expect(rpcd.asked[1]?.[1]).not.toHaveProperty('end_connections');
    await change.apply(network, { end_connections: true });
    expect(rpcd.asked[2]?.[1]).toMatchObject({ cut_ok: false, end_connections: true });
  });

  it('reports the reason of a refusal', async () => {
    rpcd.answers['apply'] = { error: { code: 'pending', text: 'viewer is at it', user: 'anna' } };
    const refused = change.apply({ edits: [] });
    await expect(refused).rejects.toBeInstanceOf(Refusal);
    await expect(refused).rejects.toMatchObject({ code: 'pending', more: { user: 'anna' } });
    expect(change.pending).toBe(null);
  });

  it('reports the reason of a refusal in the language of the page', async () => {
    await setLanguage('de');
    const cause = { code: 'no-right', params: { config: 'network', user: 'eve' } };
    const error = { code: 'denied', text: 'in English', config: 'network', cause };
    rpcd.answers['apply'] = { error };
    const fault: unknown = await change.apply({ edits: [] }).catch((caught: unknown) => caught);
    await setLanguage('en');
    expect(fault).toMatchObject({ code: 'denied', message: '„eve“ darf network nicht ändern' });
    rpcd.answers['apply'] = { error: { code: 'denied', text: 'an older router' } };
    await expect(change.apply({ edits: [] })).rejects.toThrow('an older router');
  });
});
