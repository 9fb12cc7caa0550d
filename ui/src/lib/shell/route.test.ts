// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  addressOf,
  groupNames,
  groupOf,
  groups,
  luciAddress,
  readHash,
  Route,
  screens,
  type Addressed,
  type Screen,
} from './route.svelte';

class FakeWindow extends EventTarget {
  url: URL;
  steps: string[] = [];

  constructor(address: string) {
    super();
    this.url = new URL(address, 'http://router');
  }

  get location(): Location {
    const { url } = this;
    return Object.defineProperty({ ...parts(url) }, 'hash', {
      get: () => url.hash,
      set: (hash: string) => (url.hash = hash),
    }) as unknown as Location;
  }

  get history(): History {
    const go = (how: string) => (_: unknown, __: string, address: string) => {
      this.steps.push(`${how} ${address}`);
      this.url = new URL(address, this.url);
    };
    return { pushState: go('push'), replaceState: go('replace') } as unknown as History;
  }

  route(base?: string): Route {
    return new Route(this as unknown as Addressed, base);
  }
}

it('assigns each screen to one group, and the wizard to the settings', () => {
  const grouped = groupNames.flatMap((group) => groups[group].map((each) => [each, group]));
  for (const [screen, group] of grouped) expect(groupOf(screen as Screen)).toBe(group);
  expect(grouped.map(([screen]) => screen)).toEqual(screens.filter((each) => each !== 'wizard'));
  expect(groupOf('wizard')).toBe('settings');
});

const parts = ({ pathname, search }: URL) => ({ pathname, search });
const BASE = '/cgi-bin/luci/admin/fastpath';

afterEach(() => new FakeWindow('/').route().leave());

describe('in the hash', () => {
  it('reads screen and parameters, by default the overview', () => {
    expect(readHash('#/flows?path=slow').screen).toBe('flows');
    expect(readHash('#/flows?path=slow').params.get('path')).toBe('slow');
    expect(readHash('').screen).toBe('overview');
    expect(readHash('#/nonsense').screen).toBe('overview');
  });

  it('writes the same address that it reads', () => {
    for (const hash of ['#/overview', '#/flows?text=a%26b', '#/topology']) {
      const { screen, params } = readHash(hash);
      expect(addressOf(screen, params)).toBe(hash);
    }
  });

  it('shows the requested screen, and follows the address', () => {
    const window = new FakeWindow('/fastpath/#/topology');
    const route = window.route();
    expect(route.place.screen).toBe('topology');
    route.go('flows', new URLSearchParams({ host: '10.0.0.2' }));
    expect(window.url.hash).toBe('#/flows?host=10.0.0.2');
    window.dispatchEvent(new Event('hashchange'));
    expect(route.place.screen).toBe('flows');
  });
});

describe('below the base address of a host page', () => {
  it('has one address for each screen', () => {
    const window = new FakeWindow(`${BASE}/flows?path=slow`);
    const route = window.route(BASE);
    expect(route.place.screen).toBe('flows');
    expect(route.place.params.get('path')).toBe('slow');
    expect(addressOf('protection', new URLSearchParams({ part: 'rules' }))).toBe(
      `${BASE}/protection?part=rules`,
    );
    route.replace('flows', new URLSearchParams({ text: 'x' }));
    route.go('topology');
    expect(window.steps).toEqual([`replace ${BASE}/flows?text=x`, `push ${BASE}/topology`]);
    expect(route.place.screen).toBe('topology');
  });

  it('returns LuCI’s start page', () => {
    new FakeWindow(BASE).route(BASE).leave();
    expect(luciAddress()).toBe('/cgi-bin/luci');
    new FakeWindow('/luci/admin/fastpath').route('/luci/admin/fastpath').leave();
    expect(luciAddress()).toBe('/luci');
    new FakeWindow('/').route().leave();
    expect(luciAddress()).toBe('/cgi-bin/luci');
  });

  it('shows the first screen at the base address', () => {
    expect(new FakeWindow(BASE).route(BASE).place.screen).toBe('overview');
  });

  it('follows the browser’s history until `leave`', () => {
    const window = new FakeWindow(`${BASE}/flows`);
    const route = window.route(BASE);
    window.url = new URL(`${BASE}/topology`, window.url);
    window.dispatchEvent(new Event('popstate'));
    expect(route.place.screen).toBe('topology');
    route.leave();
    window.url = new URL(`${BASE}/flows`, window.url);
    window.dispatchEvent(new Event('popstate'));
    expect(route.place.screen).toBe('topology');
  });

  it.each([
    ['of its own', `${BASE}/topology`, {}, true],
    ['to another page of LuCI', '/cgi-bin/luci/admin/status', {}, false],
    ['to a new tab', `${BASE}/topology`, { ctrlKey: true }, false],
    ['with another button', `${BASE}/topology`, { button: 1 }, false],
  ])('follows a link %s or leaves it to the browser', (_, href, how, followed) => {
    class Anchor {
      href = new URL(href, 'http://router').href;
      getAttribute = () => href;
    }
    vi.stubGlobal('HTMLAnchorElement', Anchor);
    const window = new FakeWindow(`${BASE}/flows`);
    const route = window.route(BASE);
    const event = new Event('click', { cancelable: true });
    Object.assign(event, { button: 0, ...how, composedPath: () => [{}, new Anchor()] });
    route.follow(event as unknown as MouseEvent);
    expect(event.defaultPrevented).toBe(followed);
    expect(route.place.screen).toBe(followed ? 'topology' : 'flows');
    vi.unstubAllGlobals();
  });
});
