// SPDX-License-Identifier: GPL-2.0-or-later
/** The session of the page: storage, login, logout, expiry and the right to write. */

import { Fault } from '../api/errors';
import { logIn } from '../api/fastpath';
import { NULL_SESSION, type Ubus } from '../api/ubus';

const STORED = 'fastpath.session';
/** Key of the router's name for the login page, because the router sends it only to a session. */
const HOST = 'fastpath.host';
/** Key prefix, followed by the user's name, of the token that identifies this browser. */
const BROWSER = 'fastpath.browser.';

interface Stored {
  session: string;
  user: string;
}

/**
 * The user's session. Its id is in sessionStorage: it survives a reload and is lost with the tab. A
 * host page that mounts the app provides its own session and login.
 */
export class Session {
  active = $state(false);
  user = $state('');
  /** The session may make changes. */
  canWrite = $state(false);
  /** The router has answered that the session may not make changes. */
  readsOnly = $state(false);
  /** The session has expired, rather than ended by a logout. */
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

  /** Name of the router when this browser last saw it. */
  get host(): string {
    return this.lasting.getItem(HOST) ?? '';
  }

  remember(host: string): void {
    if (host !== this.host) this.lasting.setItem(HOST, host);
  }

  /** Ends the session on the router as well; if that fails, it expires there within an hour. */
  async logOut(): Promise<void> {
    const goodbye = this.ubus.call('session', 'destroy', {});
    await goodbye.catch(() => undefined);
    this.leave();
  }

  /** Ends the session that the router no longer knows. */
  expire(): void {
    if (!this.active) return;
    this.leave();
    this.expired = true;
  }

  /** Asks the router, because the list of grants may contain patterns. */
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
