// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import { HealthList } from '../health/health.svelte';
import type { Severity } from '../health/report';
import type { App } from './app.svelte';
import { Badges } from './badges.svelte';
import type { Screen } from './route.svelte';

interface Shown {
  alerts?: number;
  health?: Severity[];
  screen?: Screen;
}

let app: App;
let badges: Badges;

function show({ alerts = 0, health = [], screen = 'overview' }: Shown): void {
  app.health.entries = health.map((severity) => ({ id: '', severity, title: '', accepted: [] }));
  Object.assign(app, {
    live: { status: { ips: { alerts } } },
    route: { place: { screen } },
  });
}

beforeEach(() => {
  app = {
    live: { status: null },
    health: new HealthList(),
    route: { place: { screen: 'overview' } },
  } as unknown as App;
  badges = new Badges(app);
});

describe('badges of the navigation', () => {
  it('are absent until the first answer', () => {
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

  it('count errors and warnings', () => {
    show({ health: ['info'] });
    expect(badges.of('health')).toBeUndefined();
    show({ health: ['warning', 'info', 'warning'] });
    expect(badges.of('health')).toMatchObject({ n: 2, level: 'warning' });
    show({ health: ['warning', 'error'] });
    const text = '2 errors and warnings';
    expect(badges.of('health')).toEqual({ n: 2, level: 'error', text });
  });

  it('of a group combine the badges of its screens', () => {
    show({ alerts: 1 });
    expect(badges.ofGroup('security')).toBeUndefined();
    show({ alerts: 3, health: ['warning'] });
    const text = '2 new alerts';
    expect(badges.ofGroup('security')).toEqual({ n: 2, level: 'error', text });
    expect(badges.ofGroup('settings')).toMatchObject({ n: 1, level: 'warning' });
    expect(badges.ofGroup('traffic')).toBeUndefined();
  });
});
