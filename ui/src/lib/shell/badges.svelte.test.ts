// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import type { App } from './app.svelte';
import { Badges } from './badges.svelte';
import type { Screen } from './route.svelte';

interface Shown {
  alerts?: number;
  health?: { level: string }[];
  screen?: Screen;
}

let app: App;
let badges: Badges;

/** The router's answer and the screen. */
function show({ alerts = 0, health = [], screen = 'overview' }: Shown): void {
  Object.assign(app, {
    live: { status: { ips: { alerts }, health } },
    route: { place: { screen } },
  });
}

beforeEach(() => {
  app = {
    live: { status: null },
    route: { place: { screen: 'overview' } },
  } as unknown as App;
  badges = new Badges(app);
});

describe('badges of the navigation', () => {
  it('are absent before the first answer', () => {
    expect(badges.of('protection')).toBeUndefined();
    expect(badges.of('health')).toBeUndefined();
    expect(badges.ofGroup('settings')).toBeUndefined();
  });

  it('count alerts since Protection was shown', () => {
    show({ alerts: 40 });
    expect(badges.of('protection')).toBeUndefined();
    show({ alerts: 43 });
    expect(badges.of('protection')).toEqual({ n: 3, level: 'error', text: '3 new alerts' });
    expect(badges.ofGroup('security')).toMatchObject({ n: 3 });
    show({ alerts: 43, screen: 'protection' });
    expect(badges.of('protection')).toBeUndefined();
  });

  it('count errors, and warnings where there is none', () => {
    const [error, warning, notice] = [
      { level: 'error' },
      { level: 'warning' },
      { level: 'notice' },
    ];
    show({ health: [notice] });
    expect(badges.of('health')).toBeUndefined();
    show({ health: [warning, notice, warning] });
    expect(badges.of('health')).toEqual({ n: 2, level: 'warning', text: '2 warnings' });
    show({ health: [warning, error] });
    expect(badges.of('health')).toEqual({ n: 1, level: 'error', text: '1 error' });
  });

  it('of a group are those of its screens', () => {
    show({ alerts: 1 });
    expect(badges.ofGroup('security')).toBeUndefined();
    show({ alerts: 3, health: [{ level: 'warning' }] });
    const text = '2 new alerts';
    expect(badges.ofGroup('security')).toEqual({ n: 2, level: 'error', text });
    expect(badges.ofGroup('settings')).toMatchObject({ n: 1, level: 'warning' });
    expect(badges.ofGroup('traffic')).toBeUndefined();
  });
});
