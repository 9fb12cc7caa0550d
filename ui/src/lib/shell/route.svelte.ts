// SPDX-License-Identifier: GPL-2.0-or-later

export const groups = {
  overview: ['overview'],
  devices: ['devices'],
  traffic: ['flows', 'topology'],
  security: ['protection'],
  settings: ['wan', 'network', 'firewall', 'fastpath', 'cpu', 'export', 'health', 'system'],
} as const;
export type Group = keyof typeof groups;
export const groupNames = Object.keys(groups) as Group[];

/** All screens; the wizard is in no group. */
export const screens = [
  ...groups.overview,
  ...groups.devices,
  ...groups.traffic,
  ...groups.security,
  ...groups.settings,
  'wizard',
] as const;
export type Screen = (typeof screens)[number];

export const daemonless: readonly Screen[] = [
  'health',
  'network',
  'wan',
  'firewall',
  'system',
  'wizard',
];

export function groupOf(screen: Screen): Group {
  const holds = (each: Group) => (groups[each] as readonly Screen[]).includes(screen);
  return groupNames.find(holds) ?? 'settings';
}

export interface Place {
  screen: Screen;
  params: URLSearchParams;
}

export type Addressed = Pick<
  Window,
  'location' | 'history' | 'addEventListener' | 'removeEventListener'
>;

/** Base address of a host page; without it, screens are in the hash. */
let base: string | undefined;

/** Parses `#/flows?path=slow`; an unknown screen is the overview. */
export function readHash(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const screen = screens.find((each) => each === path) ?? 'overview';
  return { screen, params: new URLSearchParams(query) };
}

export function addressOf(screen: Screen, params?: URLSearchParams): string {
  const query = params?.toString() ?? '';
  return `${base ?? '#'}/${screen}${query && '?'}${query}`;
}

/** Returns the address of LuCI's start page; LuCI is a dependency of the package. */
export const luciAddress = (): string => base?.replace(/\/admin\/.*$/, '') ?? '/cgi-bin/luci';

/** The current screen and its parameters, in the address so that a reload or login keeps them. */
export class Route {
  place = $state.raw<Place>(readHash(''));

  constructor(
    private readonly window: Addressed,
    wanted?: string,
  ) {
    base = wanted;
    this.read();
    window.addEventListener('hashchange', this.read);
    window.addEventListener('popstate', this.read);
  }

  replace(screen: Screen, params: URLSearchParams): void {
    this.window.history.replaceState(null, '', addressOf(screen, params));
    this.place = { screen, params };
  }

  go(screen: Screen, params?: URLSearchParams): void {
    this.open(addressOf(screen, params));
  }

  /** Handles links between screens in a host page, where the browser would reload the page. */
  follow(event: MouseEvent): void {
    const link = event.composedPath().find((each) => each instanceof HTMLAnchorElement);
    const own = base !== undefined && link?.getAttribute('href')?.startsWith(`${base}/`);
    const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (!link || !own || elsewhere || event.button !== 0 || event.defaultPrevented) return;
    event.preventDefault();
    this.open(link.href);
  }

  leave(): void {
    this.window.removeEventListener('hashchange', this.read);
    this.window.removeEventListener('popstate', this.read);
  }

  private open(address: string): void {
    if (base === undefined) this.window.location.hash = address;
    else this.window.history.pushState(null, '', address);
    // The event of a new hash comes later, so read the address now.
    this.read();
  }

  private readonly read = (): void => {
    const { hash, pathname, search } = this.window.location;
    const own = base === undefined ? hash : pathname.slice(base.length) + search;
    this.place = readHash(own.replace(/^\//, ''));
  };
}
