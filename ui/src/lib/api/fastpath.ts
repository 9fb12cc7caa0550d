// SPDX-License-Identifier: GPL-2.0-or-later
/** Typed calls of the object `fastpath` and others, and the login. */

import { reasonOf, type Refused } from '../cause/cause';
import { Fault, type FaultKind } from './errors';
import type { FastpathApi } from './types';
import { NULL_SESSION, type Ubus } from './ubus';

type Method = Exclude<keyof FastpathApi, 'tick' | 'alert'>;

/** Methods of the ubus object `fastpath`, typed by their schemas. */
export class Fastpath {
  constructor(readonly ubus: Ubus) {}

  /** Calls a method of `fastpath`; fails like `request`. */
  async call<M extends Method>(
    method: M,
    args: FastpathApi[M]['request'],
    signal?: AbortSignal,
  ): Promise<FastpathApi[M]['reply']> {
    const reply = await this.request('fastpath', method, args, signal);
    return reply as unknown as FastpathApi[M]['reply'];
  }

  /**
   * Calls a method of any object. uhttpd reports a missing grant and a dead session alike, so after
   * a refusal a second call distinguishes `denied` from `session`.
   *
   * @param limit timeout of the answer in milliseconds
   */
  async request(
    object: string,
    method: string,
    args: object,
    signal?: AbortSignal,
    limit?: number,
  ): Promise<Record<string, unknown>> {
    try {
      return await this.ubus.call(object, method, args, signal, limit);
    } catch (fault) {
      const refused = fault instanceof Fault && fault.kind === 'session';
      if (refused && (await this.sessionLives())) throw new Fault('denied', fault.message);
      throw fault;
    }
  }

  /** Reports whether the session is valid: rpcd answers no other session. */
  private async sessionLives(): Promise<boolean> {
    const args = { scope: 'ubus', object: 'fastpath', function: 'status' };
    try {
      await this.ubus.call('session', 'access', args);
      return true;
    } catch (fault) {
      if (fault instanceof Fault && fault.kind === 'session') return false;
      throw fault;
    }
  }
}

/** Session timeout in seconds: an hour, as in LuCI, so that a hidden tab stays logged in. */
const SESSION_S = 3600;

/** A session, and the router's token for the user's next login in this browser. */
export interface Login {
  session: string;
  /** Logins with a token are throttled separately. `undefined` on older routers. */
  browser: string | undefined;
}

/**
 * Logs in, uses the new session for later calls and returns it.
 *
 * @param browser the token of this user's last login in this browser
 * @throws {Fault} `denied` for a wrong name or password, `slowed` after too many of them
 */
export async function logIn(
  ubus: Ubus,
  username: string,
  password: string,
  browser?: string,
): Promise<Login> {
  ubus.session = NULL_SESSION;
  const args = { username, password, timeout: SESSION_S };
  const reply = await ask(ubus, args, browser);
  const session = reply['ubus_rpc_session'];
  if (typeof session !== 'string') throw new Fault('failed', 'login: no session');
  ubus.session = session;
  const token = reply['browser'];
  return { session, browser: typeof token === 'string' ? token : undefined };
}

/** Uses the login that counts wrong passwords, or rpcd's login if the router lacks it. */
async function ask(
  ubus: Ubus,
  args: object,
  browser: string | undefined,
): Promise<Record<string, unknown>> {
  try {
    // Only a page from the router's own origin can read the nonce.
    const { nonce } = admitted(await ubus.call('fastpath.access', 'begin', {}));
    const own = { ...args, nonce, ...(browser !== undefined && { browser }) };
    return admitted(await ubus.call('fastpath.access', 'login', own));
  } catch (fault) {
    // The object is missing, or granted to nobody, which uhttpd reports as a missing session.
    const missing = fault instanceof Fault && ['absent', 'session', 'gone'].includes(fault.kind);
    if (!missing) throw fault;
    return ubus.call('session', 'login', args);
  }
}

function admitted(reply: Record<string, unknown>): Record<string, unknown> {
  const { error } = reply as { error?: Refused & { wait_s?: number } };
  if (!error) return reply;
  const late = error.cause?.code === 'empty-password';
  const kind = (!late && { denied: 'denied', wait: 'slowed' }[error.code]) || 'failed';
  throw new Fault(kind as FaultKind, reasonOf('refusal', error), { seconds: error.wait_s ?? 0 });
}
