// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import { Fault } from '../api/errors';
import { NULL_SESSION, type Ubus } from '../api/ubus';
import { Session } from './session.svelte';

class Store {
  items = new Map<string, string>();
  getItem(key: string) {
    return this.items.get(key) ?? null;
  }
  setItem(key: string, value: string) {
    this.items.set(key, value);
  }
  removeItem(key: string) {
    this.items.delete(key);
  }
}

class Router {
  session = NULL_SESSION;
  access = true;
  ended: string[] = [];
  login: object = {};
  call(_: string, method: string, args: object) {
    if (method === 'begin') return Promise.resolve({ nonce: '1.x', valid_s: 60 });
    if (method === 'login') this.login = args;
    if (method === 'destroy') this.ended.push(this.session);
    if (method === 'login') return Promise.resolve({ ubus_rpc_session: 'abc', browser: 'token' });
    if (method === 'access') return Promise.resolve({ access: this.access });
    return Promise.reject(new Fault('unreachable', 'no answer'));
  }
}

let store: Store;
let lasting: Store;
let router: Router;
const open = (given?: string) => new Session(router as unknown as Ubus, given, store, lasting);

beforeEach(() => {
  store = new Store();
  lasting = new Store();
  router = new Router();
});

describe('Session', () => {
  it('requires a login, which survives a reload until the logout', async () => {
    const session = open();
    expect(session.active).toBe(false);
    await session.logIn('root', 'secret');
    expect(session.active).toBe(true);
    expect([...store.items.values()].join()).not.toContain('secret');
    router.session = NULL_SESSION;
    expect(open()).toMatchObject({ active: true, user: 'root' });
    expect(router.session).toBe('abc');
    await session.logOut();
    expect(router.ended).toEqual(['abc']);
    expect(router.session).toBe(NULL_SESSION);
    expect(store.items.size).toBe(0);
    expect(open().active).toBe(false);
  });

  it('sends the browser’s token at the next login with the same name', async () => {
    const session = open();
    await session.logIn('root', 'secret');
    expect(router.login).not.toHaveProperty('browser');
    await session.logOut();
    await open().logIn('viewer', 'secret');
    expect(router.login).not.toHaveProperty('browser');
    await open().logIn('root', 'secret');
    expect(router.login).toMatchObject({ username: 'root', browser: 'token' });
    expect([...lasting.items.values()].join()).not.toContain('secret');
  });

  it('distinguishes an expired session from a logout', async () => {
    const session = open();
    await session.logIn('root', 'secret');
    session.expire();
    expect(session).toMatchObject({ active: false, expired: true, user: 'root' });
    expect(router.session).toBe(NULL_SESSION);
    await session.logIn('root', 'secret');
    expect(session.expired).toBe(false);
  });

  it('uses a host page’s session and stores nothing', () => {
    expect(open('given')).toMatchObject({ active: true, embedded: true });
    expect(router.session).toBe('given');
    expect(store.items.size).toBe(0);
  });

  it('asks the router whether the session may write', async () => {
    const session = open('given');
    expect(session.readsOnly, 'not known yet').toBe(false);
    await session.loadRights();
    expect(session.canWrite).toBe(true);
    expect(session.readsOnly).toBe(false);
    router.access = false;
    await session.loadRights();
    expect(session.canWrite).toBe(false);
    expect(session.readsOnly).toBe(true);
  });

  it('ignores invalid stored sessions', () => {
    store.setItem('fastpath.session', '{"session":');
    expect(open().active).toBe(false);
    store.setItem('fastpath.session', '{"session":7}');
    expect(open().active).toBe(false);
  });
});
