// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { App } from '../shell/app.svelte';
import { changeOf } from './change.svelte';
import { draftOf, openFiles } from './opened.svelte';

/** Runs `begin` as a component would; `leave` ends its effects. */
function show<T>(begin: () => T): { of: T; leave: () => void } {
  let of: T | undefined;
  const leave = $effect.root(() => void (of = begin()));
  return { of: of as T, leave };
}

const files = {
  firewall: [
    { section: 'lan', type: 'zone', anonymous: false, values: { name: 'lan', input: 'ACCEPT' } },
    { section: 'wan', type: 'zone', anonymous: false, values: { name: 'wan', input: 'REJECT' } },
  ],
};
let app: App;
let sessions = 0;

beforeEach(() => {
  const storage = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
  vi.stubGlobal('sessionStorage', storage);
  vi.stubGlobal('location', { hostname: '192.0.2.1' });
  const answers: Record<string, unknown> = { get: { configs: files }, list: {} };
  app = {
    route: { place: { screen: 'firewall' } },
    ubus: { session: `session ${++sessions}` },
    api: { request: (_: string, method: string) => Promise.resolve(answers[method] ?? {}) },
    live: { visible: true, status: null, report: (fault: unknown) => expect.fail(String(fault)) },
  } as unknown as App;
});
afterEach(() => vi.unstubAllGlobals());

describe('a file that the router cannot read', () => {
  const broken = (config: string) => ({
    config,
    line: 2,
    text: 'English',
    cause: { code: 'broken', params: { config, line: '2', inner: 'uci-quote' } },
  });
  const said = (config: string) =>
    `/etc/config/${config} cannot be read, line 2: a quote is never closed`;

  it('is reported with its line, and reloaded until it is valid', async () => {
    vi.useFakeTimers();
    const readable = { configs: files };
    let answer: unknown = { configs: {}, broken: [broken('firewall')] };
    Object.assign(app.api, { request: () => Promise.resolve(answer) });
    const screen = show(() => openFiles(app, ['firewall', 'network']));
    await vi.advanceTimersByTimeAsync(100);
    expect(screen.of).toMatchObject({ loaded: false, broken: true, trouble: said('firewall') });
    answer = readable;
    await vi.advanceTimersByTimeAsync(2100);
    expect(screen.of).toMatchObject({ loaded: true, broken: false, trouble: '' });
    expect(screen.of.draft.broken).toEqual([]);
    screen.leave();
    vi.useRealTimers();
  });

  it('does not affect the other files of a screen', async () => {
    const answer = { configs: files, broken: [broken('network')] };
    Object.assign(app.api, { request: () => Promise.resolve(answer) });
    const screen = show(() => openFiles(app, ['firewall', 'network']));
    await vi.waitFor(() => expect(screen.of.loaded).toBe(true));
    expect(screen.of.draft.all('firewall', 'zone')).toHaveLength(2);
    expect(screen.of.draft.broken.map(({ config }) => config)).toEqual(['network']);
    screen.of.draft.set('firewall', 'wan', { input: 'DROP' });
    expect(screen.of.draft.edits).toHaveLength(1);
    screen.leave();
  });
});

describe('a draft while another screen is shown', () => {
  const screen = () => show(() => openFiles(app, ['firewall']).draft);

  it('keeps the edits of the previous screen', async () => {
    const first = screen();
    await first.of.load(['firewall']);
    first.of.set('firewall', 'wan', { input: 'ACCEPT' });
    expect(first.of.edits).toHaveLength(1);
    first.leave();

    const second = screen();
    expect(second.of.get('firewall', 'wan')?.values['input']).toBe('ACCEPT');
    expect(second.of.edits).toMatchObject([{ section: 'wan', values: { input: 'ACCEPT' } }]);
    second.of.discard();
    expect(second.of.get('firewall', 'wan')?.values['input']).toBe('REJECT');
    expect(second.of.edits).toEqual([]);
    second.of.set('firewall', 'lan', { input: 'DROP' });
    expect(second.of.edits).toMatchObject([{ section: 'lan', values: { input: 'DROP' } }]);
    second.leave();
  });

  it('updates derived values', async () => {
    const first = screen();
    await first.of.load(['firewall']);
    first.of.set('firewall', 'wan', { input: 'ACCEPT' });
    void first.of.edits;
    first.leave();

    const second = show(() => {
      const { draft } = openFiles(app, ['firewall']);
      const number = $derived(draft.edits.length);
      return { draft, number: () => number };
    });
    expect(second.of.number()).toBe(1);
    second.of.draft.discard();
    expect(second.of.number()).toBe(0);
    second.of.draft.set('firewall', 'lan', { input: 'DROP' });
    expect(second.of.number()).toBe(1);
    second.leave();
  });
});

describe('the draft of all screens', () => {
  const interfaces = [
    { section: 'lan', type: 'interface', anonymous: false, values: { ipaddr: '10.0.0.1/24' } },
  ];
  let asked: string[][] = [];
  let reply: Record<string, unknown> = {};
  let answer = () => Promise.resolve();

  beforeEach(() => {
    asked = [];
    reply = { ...files, network: interfaces };
    answer = () => Promise.resolve();
    const request = async (_: string, method: string, args: { configs?: string[] }) => {
      if (method !== 'get') return {};
      asked.push(args.configs ?? []);
      const now = reply;
      await answer();
      return { configs: now };
    };
    app = { ...app, api: { request } } as unknown as App;
  });

  const screen = (...configs: string[]) => show(() => openFiles(app, configs));
  const ready = (of: { loaded: boolean }) => vi.waitFor(() => expect(of.loaded).toBe(true));

  it('has the edits of all screens in one review', async () => {
    const network = screen('network');
    await ready(network.of);
    network.of.draft.set('network', 'lan', { ipaddr: '10.0.1.1/24' });
    network.leave();

    const firewall = screen('network', 'firewall');
    expect(firewall.of.loaded).toBe(false);
    await ready(firewall.of);
    expect(asked).toEqual([['network'], ['firewall']]);
    firewall.of.draft.set('firewall', 'wan', { input: 'ACCEPT' });
    expect(firewall.of.draft.edits).toMatchObject([
      { config: 'network', section: 'lan', values: { ipaddr: '10.0.1.1/24' } },
      { config: 'firewall', section: 'wan', values: { input: 'ACCEPT' } },
    ]);
    firewall.leave();
  });

  it('reloads a file without edits whenever a screen opens', async () => {
    const first = screen('firewall');
    await ready(first.of);
    first.leave();
    reply = { firewall: [] };
    const second = screen('firewall');
    expect(second.of.loaded).toBe(false);
    await ready(second.of);
    expect(second.of.draft.all('firewall')).toEqual([]);
    second.leave();
  });

  it('keeps an edit made while its file is reloaded', async () => {
    const first = screen('firewall');
    await ready(first.of);
    let go: () => void = () => undefined;
    answer = () => new Promise((done) => (go = done));
    const reading = first.of.draft.load();
    first.of.draft.set('firewall', 'wan', { input: 'ACCEPT' });
    go();
    await reading;
    expect(first.of.draft.edits).toMatchObject([{ section: 'wan', values: { input: 'ACCEPT' } }]);
    first.leave();
  });

  it('keeps an edit made while a change waits for its confirmation', async () => {
    const first = screen('firewall', 'network');
    await ready(first.of);
    const { draft } = first.of;
    draft.set('firewall', 'wan', { input: 'ACCEPT' });
    const applied = draft.files;
    draft.set('network', 'lan', { ipaddr: '10.0.1.1/24' });
    reply = { ...reply, firewall: [] };
    await draft.loadAfter(applied);
    expect(draft.all('firewall')).toEqual([]);
    expect(draft.edits).toMatchObject([{ config: 'network', values: { ipaddr: '10.0.1.1/24' } }]);
    first.leave();
  });

  it('keeps only the renames made while a change waits for its confirmation', async () => {
    const first = screen('firewall');
    await ready(first.of);
    const { draft } = first.of;
    draft.rename('firewall', 'lan', 'home');
    draft.rename('firewall', 'wan', 'line');
    const applied = draft.files;
    draft.set('firewall', 'home', { input: 'DROP' });
    draft.rename('firewall', 'line', 'internet');
    await draft.loadAfter(applied);
    expect(draft.original('firewall', 'home')?.section).toBe('home');
    expect(draft.original('firewall', 'internet')?.section).toBe('line');
    expect(draft.edits).toMatchObject([
      { op: 'set', section: 'home' },
      { op: 'rename', section: 'line', name: 'internet' },
    ]);
    first.leave();
  });

  it('can add a section under the name of a renamed and removed one', async () => {
    const first = screen('firewall');
    await ready(first.of);
    const { draft } = first.of;
    draft.rename('firewall', 'lan', 'home');
    draft.remove('firewall', 'home');
    draft.add('firewall', 'rule', { target: 'ACCEPT' }, 'home');
    expect(draft.edits).toMatchObject([
      { op: 'delete', section: 'lan' },
      { op: 'add', section: 'home', type: 'rule' },
    ]);
    first.leave();
  });

  it('is empty in another session', async () => {
    const first = screen('firewall');
    await ready(first.of);
    first.of.draft.set('firewall', 'wan', { input: 'ACCEPT' });
    first.leave();
    app.ubus.session = `session ${++sessions}`;
    expect(draftOf(app).edits).toEqual([]);
  });

  it('renames a section of one file only', async () => {
    const both = screen('firewall', 'network');
    await ready(both.of);
    both.of.draft.rename('firewall', 'lan', 'home');
    both.of.draft.add('network', 'interface', {}, 'home');
    expect(both.of.draft.original('network', 'home')).toBeUndefined();
    expect(both.of.draft.original('firewall', 'home')?.section).toBe('lan');
    both.leave();
  });
});

describe('the pending change while another screen is shown', () => {
  it('is shared with the next screen', async () => {
    const first = show(() => changeOf(app));
    expect(first.of.pending).toBeNull();
    first.leave();
    const second = show(() => {
      const change = changeOf(app);
      const waits = $derived(change.pending !== null);
      return { change, waits: () => waits };
    });
    expect(second.of.change).toBe(first.of);
    expect(second.of.waits()).toBe(false);
    second.of.change.track(7, 60);
    expect(second.of.waits()).toBe(true);
    await second.of.change.refresh();
    expect(second.of.waits()).toBe(false);
    second.leave();
  });
});
