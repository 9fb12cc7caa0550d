// SPDX-License-Identifier: GPL-2.0-or-later

export const screens = ['overview', 'flows', 'protection', 'topology'] as const;
export type Screen = (typeof screens)[number];

export interface Place {
  screen: Screen;
  params: URLSearchParams;
}

/** Reads `#/flows?path=slow`; anything unknown is the overview. */
export function readHash(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const screen = screens.find((each) => each === path) ?? 'overview';
  return { screen, params: new URLSearchParams(query) };
}

export function hashOf(screen: Screen, params?: URLSearchParams): string {
  const query = params?.toString() ?? '';
  return query === '' ? `#/${screen}` : `#/${screen}?${query}`;
}

/** Where the page is. It lives in the address, so a reload or a login comes back to it. */
export class Route {
  place = $state.raw<Place>(readHash(''));

  constructor(private readonly window: Pick<Window, 'location' | 'history' | 'addEventListener'>) {
    this.place = readHash(window.location.hash);
    window.addEventListener('hashchange', () => {
      this.place = readHash(this.window.location.hash);
    });
  }

  /** Changes the parameters without a step in the browser's history. */
  replace(screen: Screen, params: URLSearchParams): void {
    this.window.history.replaceState(null, '', hashOf(screen, params));
    this.place = { screen, params };
  }

  go(screen: Screen, params?: URLSearchParams): void {
    this.window.location.hash = hashOf(screen, params);
  }
}
