// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { App } from '../shell/app.svelte';
import { changeOf } from './change.svelte';
import { opened } from './opened.svelte';

/** A screen as Svelte makes it: it owns its effects, which end when it is left. */
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

describe('a draft of files, kept while another screen is shown', () => {
  const screen = () => show(() => opened(app, ['firewall']).draft);

  it('has the edits that its controls show, whichever screen they were made on', async () => {
    const first = screen();
    await first.of.load();
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
    await first.of.load();
    first.of.set('firewall', 'wan', { input: 'ACCEPT' });
    void first.of.edits;
    first.leave();

    const second = show(() => {
      const { draft } = opened(app, ['firewall']);
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

describe('the change under way, kept while another screen is shown', () => {
  it('is seen by the next screen too', async () => {
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
    second.of.change.begun(7, 60);
    expect(second.of.waits()).toBe(true);
    await second.of.change.refresh();
    expect(second.of.waits()).toBe(false);
    second.leave();
  });
});
