// SPDX-License-Identifier: GPL-2.0-or-later
/** The session of the page: kept in sessionStorage, login and logout, its end on the router, and
 * whether it may write. */

import { Fault } from '../api/errors';
import { logIn } from '../api/fastpath';
import { NULL_SESSION, type Ubus } from '../api/ubus';

const STORED = 'fastpath.session';
/** The name of the router, for its login page: without a session the router does not send it. */
const HOST = 'fastpath.host';
/** With the user's name after it: the token by which the router knows this browser again. */
const BROWSER = 'fastpath.browser.';

interface Stored {
  session: string;
  user: string;
}

/**
 * Who is logged in. The session id lives in sessionStorage: it survives a reload and dies with
 * the tab. A host page that mounts the app brings its own session and its own login.
 */
export class Session {
  active = $state(false);
  user = $state('');
  /** May this session choose the engine? */
  canWrite = $state(false);
  /** The router has answered that it may not. */
  readsOnly = $state(false);
  /** The session ended by itself, rather than by logging out. */
  expired = $state(false);
  readonly embedded: boolean;

  constructor(
    private readonly ubus: Ubus,
    given: string | undefined,
    private readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
    private readonly lasting: Pick<Storage, 'getItem' | 'setItem'>,
  ) {
    this.embedded = given !== undefined;
    const stored = given === undefined ? this.restore() : { session: given, user: '' };
    if (stored) this.enter(stored);
  }

  async logIn(user: string, password: string): Promise<void> {
    const known = this.lasting.getItem(BROWSER + user) ?? undefined;
    const { session, browser } = await logIn(this.ubus, user, password, known);
    if (browser !== undefined) this.lasting.setItem(BROWSER + user, browser);
    this.storage.setItem(STORED, JSON.stringify({ session, user } satisfies Stored));
    this.enter({ session, user });
  }

  /** The name of the router as this browser last saw it. */
  get host(): string {
    return this.lasting.getItem(HOST) ?? '';
  }

  remember(host: string): void {
    if (host !== this.host) this.lasting.setItem(HOST, host);
  }

  /** Ends the session on the router as well; a router that is away forgets it in an hour. */
  async logOut(): Promise<void> {
    const goodbye = this.ubus.call('session', 'destroy', {});
    await goodbye.catch(() => undefined);
    this.leave();
  }

  /** The router does not know the session any more. */
  expire(): void {
    if (!this.active) return;
    this.leave();
    this.expired = true;
  }

  /** Asks the router rather than reading the list of grants, which may hold patterns. */
  async learnRights(): Promise<void> {
    const args = { scope: 'ubus', object: 'fastpath', function: 'engine' };
    try {
      this.canWrite = (await this.ubus.call('session', 'access', args))['access'] === true;
      this.readsOnly = !this.canWrite;
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      this.canWrite = false;
    }
  }

  private enter(stored: Stored): void {
    this.ubus.session = stored.session;
    this.user = stored.user;
    this.expired = false;
    this.active = true;
  }

  private leave(): void {
    this.storage.removeItem(STORED);
    this.ubus.session = NULL_SESSION;
    this.active = false;
    this.canWrite = false;
    this.readsOnly = false;
  }

  private restore(): Stored | undefined {
    try {
      const stored = JSON.parse(this.storage.getItem(STORED) ?? 'null') as Stored | null;
      return typeof stored?.session === 'string' ? stored : undefined;
    } catch {
      return undefined;
    }
  }
}
