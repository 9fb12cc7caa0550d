// SPDX-License-Identifier: GPL-2.0-or-later

import { flushSync } from 'svelte';
import type { Host } from '../api/types';
import { addressesOf, byOwner, detailsOf, nameOf, v4Of, type Device } from '../devices/devices';
import { d } from '../devices/messages';
import { changeOf } from '../form/change.svelte';
import { moment } from '../format/time';
import { t, tags } from '../i18n/t';
import { engineName, engines, type EngineChoice } from '../overview/engine.svelte';
import { w } from '../protection/messages';
import { parts } from '../protection/view';
import type { App } from '../shell/app.svelte';
import { languageName } from '../shell/language.svelte';
import { screens, type Screen } from '../shell/route.svelte';
import { schemes } from '../shell/theme.svelte';
import { q } from './messages';
import type { Found } from './rank';
import { labelled, seek } from './seek';
import { settings } from './settings';

export interface Sources {
  app: App;
  hosts: readonly Host[];
  devices: readonly Device[];
  text: string;
  engine: EngineChoice;
  onhelp: () => void;
}

const mainOf = ({ root }: App) => root.querySelector<HTMLElement>('main');

/** Shows a screen and focuses it, so that screen readers continue there. */
function show(app: App, screen: Screen, params?: URLSearchParams): void {
  app.route.go(screen, params);
  // Renders at once, because the previous screen may have the same label.
  flushSync();
  mainOf(app)?.focus();
}

const partOf = (part: string | undefined) => part && new URLSearchParams({ part });

function screenEntries({ app }: Sources): Found[] {
  const all = screens.filter((screen) => screen !== 'wizard' || app.session.canWrite);
  const main = all.map((screen): Found => ({
    id: `screen ${screen}`,
    kind: 'screens',
    title: t(`nav.${screen}`),
    offered: true,
    act: () => show(app, screen),
  }));
  const inner = parts
    .filter((part) => part !== 'now')
    .map((part): Found => ({
      id: `screen protection ${part}`,
      kind: 'screens',
      title: w(`part.${part}`),
      detail: t('nav.protection'),
      act: () => show(app, 'protection', new URLSearchParams({ part })),
    }));
  return [...main, ...inner];
}

function settingEntries({ app }: Sources): Found[] {
  return settings(app.session.canWrite).map(({ screen, part, label, panel }, n): Found => ({
    id: `setting ${n}`,
    kind: 'settings',
    title: label,
    detail: t(`nav.${screen}`),
    act: () => {
      show(app, screen, partOf(part) || undefined);
      const main = mainOf(app);
      const shown = (scope: HTMLElement) =>
        labelled(scope, label) ?? (panel ? labelled(scope, panel) : undefined);
      if (main) seek(main, shown);
    },
  }));
}

function deviceEntries({ app, devices }: Sources): Found[] {
  return devices.map((device): Found => ({
    id: `device ${device.mac}`,
    kind: 'hosts',
    title: nameOf(device),
    detail: [...detailsOf(device).slice(0, 1), device.port || device.device]
      .filter(Boolean)
      .join(' · '),
    keywords: [...detailsOf(device), device.group].join(' '),
    act: () => show(app, 'devices', new URLSearchParams({ mac: device.mac })),
  }));
}

type Verb = 'pause' | 'resume' | 'rename' | 'reserve' | 'forward' | 'spare';

/** Verbs of each device. An entry focuses the control on the device's page. */
function verbEntries({ app, devices }: Sources): Found[] {
  const entry = (device: Device, verb: Verb): Found => ({
    id: `${verb} ${device.mac}`,
    kind: 'commands',
    title: d(`find.${verb}`, { name: nameOf(device) }),
    detail: addressesOf(device)[0] ?? '',
    keywords: d(`find.${verb}.words`),
    act: () => {
      show(app, 'devices', new URLSearchParams({ mac: device.mac }));
      const control = verb === 'rename' ? 'form input' : `[data-verb=${verb}]:enabled`;
      const main = mainOf(app);
      if (main) seek(main, (scope) => scope.querySelector<HTMLElement>(control) ?? undefined);
    },
  });
  return devices.flatMap((device) => {
    const paused: Verb[] = byOwner(device) ? ['resume'] : [];
    const running: Verb[] = device.paused === '' ? ['pause'] : [];
    const routed: Verb[] = v4Of(device) === '' ? [] : ['reserve', 'forward'];
    const own: Verb[] = [...paused, ...running, 'rename', ...routed, 'spare'];
    return own.map((verb) => entry(device, verb));
  });
}

function hostEntries({ app, hosts, devices, text }: Sources): Found[] {
  const owned = new Set(devices.flatMap(({ addresses }) => addresses));
  const others = hosts.filter(({ address }) => !owned.has(address));
  const known = others.map((host): Found => ({
    id: `host ${host.address} ${host.mac}`,
    kind: 'hosts',
    title: host.name || host.address,
    detail: [host.name && host.address, host.port || host.device].filter(Boolean).join(' · '),
    keywords: host.mac,
    act: () => show(app, 'flows', new URLSearchParams({ host: host.address })),
  }));
  const typed = text.trim();
  if (typed === '') return known;
  const match: Found = {
    id: 'flows',
    kind: 'hosts',
    title: q('flows.match', { text: typed }),
    detail: q('flows.filter'),
    always: true,
    act: () => show(app, 'flows', new URLSearchParams({ text: typed })),
  };
  return [...known, match];
}

function findingEntries({ app }: Sources): Found[] {
  return app.health.entries.map(({ id, title, severity, accepted }, index): Found => ({
    id: `finding ${id} ${index}`,
    kind: 'findings',
    title,
    detail: t('nav.health'),
    keywords: id,
    offered: ['error', 'warning'].includes(severity) && accepted.length === 0,
    act: () => {
      show(app, 'health');
      const summary = `[data-finding="${id}"] summary, [data-code="${id}"]`;
      const main = mainOf(app);
      if (main) seek(main, (scope) => scope.querySelector<HTMLElement>(summary) ?? undefined);
    },
  }));
}

function engineEntries({ app, engine }: Sources): Found[] {
  const now = app.live.status?.engine.active;
  return engines.map((each): Found => ({
    id: `engine ${each}`,
    kind: 'commands',
    title: q('engine', { engine: engineName(each) }),
    detail: each === now ? q('engine.now') : '',
    stays: true,
    act: () => void engine.choose(each),
  }));
}

function undoEntries({ app }: Sources): Found[] {
  const [last] = changeOf(app).changes;
  if (!last?.undoable) return [];
  const { id, user, at_ms } = last;
  return [
    {
      id: 'undo',
      kind: 'commands',
      title: q('undo'),
      detail: q('undo.of', { user, time: moment(at_ms) }),
      offered: true,
      act: () => show(app, 'system', new URLSearchParams({ undo: String(id) })),
    },
  ];
}

function appearanceEntries({ app }: Sources): Found[] {
  const { theme, language } = app;
  const themes = schemes.map((scheme): Found => ({
    id: `theme ${scheme}`,
    kind: 'commands',
    title: q('theme', { theme: t(`theme.${scheme}`) }),
    act: () => theme.choose(scheme),
  }));
  const languages = tags.map((tag): Found => ({
    id: `language ${tag}`,
    kind: 'commands',
    title: q('language', { language: languageName(tag) }),
    act: () => void language.choose(tag).catch(() => undefined),
  }));
  return [...(theme.fixed ? [] : themes), ...(language.fixed ? [] : languages)];
}

function commandEntries(from: Sources): Found[] {
  const { app, onhelp } = from;
  const command = (id: string, title: string, act: () => void): Found => ({
    ...{ id, kind: 'commands', title, act },
    offered: true,
  });
  // The screen Health runs the checks when it opens.
  const checks =
    app.route.place.screen === 'health'
      ? []
      : [command('checks', q('checks'), () => show(app, 'health'))];
  const logOut = command('log out', t('login.out'), () => void app.session.logOut());
  return [
    ...checks,
    ...(app.session.canWrite
      ? [...undoEntries(from), ...engineEntries(from), ...verbEntries(from)]
      : []),
    ...appearanceEntries(from),
    command('keys', t('keys'), onhelp),
    ...(app.session.embedded ? [] : [logOut]),
  ];
}

export function catalogue(from: Sources): Found[] {
  return [
    ...screenEntries(from),
    ...settingEntries(from),
    ...deviceEntries(from),
    ...hostEntries(from),
    ...findingEntries(from),
    ...commandEntries(from),
  ];
}
