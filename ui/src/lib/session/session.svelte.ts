// SPDX-License-Identifier: GPL-2.0-or-later

import { Fault } from '../api/errors';
import { logIn } from '../api/fastpath';
import { NULL_SESSION, type Ubus } from '../api/ubus';

const STORED = 'fastpath.session';
/** Key of the router's name for the login, because the router sends it only to sessions. */
const HOST = 'fastpath.host';
/** Prefix of the key for the token that identifies this browser; the user name follows. */
const BROWSER = 'fastpath.browser.';

interface Stored {
  session: string;
  user: string;
}

/**
 * The user's session. The id is in sessionStorage, so it survives a reload but not the tab. In a
 * host page the session is given, without login and logout.
 */
export class Session {
  active = $state(false);
  user = $state('');
  canWrite = $state(false);
  /** The router has reported that the session may not write. */
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

  /** The router's name at the last visit of this browser. */
  get host(): string {
    return this.lasting.getItem(HOST) ?? '';
  }

  storeHost(host: string): void {
    if (host !== this.host) this.lasting.setItem(HOST, host);
  }

  /** Ends the session on the router as well. If that fails, it expires within an hour. */
  async logOut(): Promise<void> {
    const goodbye = this.ubus.call('session', 'destroy', {});
    await goodbye.catch(() => undefined);
    this.leave();
  }

  expire(): void {
    if (!this.active) return;
    this.leave();
    this.expired = true;
  }

  /** Asks the router for the right to write, because the list of grants may contain patterns. */
  async loadRights(): Promise<void> {
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
