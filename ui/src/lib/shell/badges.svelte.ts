// SPDX-License-Identifier: GPL-2.0-or-later

import { count } from '../format/units';
import { t } from '../i18n/t';
import type { App } from './app.svelte';
import { groups, type Group, type Screen } from './route.svelte';
import { fresh, seenAfter } from './title';

export interface Badge {
  n: number;
  level: 'warning' | 'error';
  text: string;
}

const levels = ['warning', 'error'] as const;

export class Badges {
  /** Id of the newest alert at the last visit of Protection, or at the first answer. */
  private seen: number | undefined;

  constructor(private readonly app: Pick<App, 'live' | 'route' | 'health'>) {}

  get alerts(): number {
    const alerts = this.app.live.status?.ips.alerts;
    this.seen = seenAfter(alerts, this.seen, this.app.route.place.screen);
    return fresh(alerts, this.seen);
  }

  of(screen: Screen): Badge | undefined {
    if (screen === 'protection') return badge(this.alerts, 'error', 'badge.alerts');
    if (screen === 'health') return this.findings;
    return undefined;
  }

  /** Returns the badge of a group: the worst level, and the sum of its screens. */
  ofGroup(group: Group): Badge | undefined {
    const all = groups[group].map((each) => this.of(each)).filter((each) => each !== undefined);
    const worst = Math.max(...all.map(({ level }) => levels.indexOf(level)));
    const level = levels[worst];
    if (!level) return undefined;
    const n = all.reduce((sum, each) => sum + each.n, 0);
    return { n, level, text: all.map(({ text }) => text).join(', ') };
  }

  private get findings(): Badge | undefined {
    const { urgent, worst } = this.app.health;
    return badge(urgent, worst === 'error' ? 'error' : 'warning', 'health.count');
  }
}

function badge(
  n: number,
  level: Badge['level'],
  text: 'badge.alerts' | 'health.count',
): Badge | undefined {
  return n > 0 ? { n, level, text: t(text, { n: count(n) }) } : undefined;
}

const known = new WeakMap<object, Badges>();

export function badgesOf(app: Pick<App, 'live' | 'route' | 'health'>): Badges {
  const badges = known.get(app) ?? new Badges(app);
  known.set(app, badges);
  return badges;
}
