// SPDX-License-Identifier: GPL-2.0-or-later

import { reasonOf, type Refused } from '../cause/cause';
import { Fault, type FaultKind } from './errors';
import type { FastpathApi } from './types';
import { NULL_SESSION, type Ubus } from './ubus';

type Method = Exclude<keyof FastpathApi, 'tick' | 'alert'>;

/** Typed methods of the ubus object `fastpath`, and calls of other objects. */
export class Fastpath {
  constructor(readonly ubus: Ubus) {}

  async call<M extends Method>(
    method: M,
    args: FastpathApi[M]['request'],
    signal?: AbortSignal,
  ): Promise<FastpathApi[M]['reply']> {
    const reply = await this.request('fastpath', method, args, signal);
    return reply as unknown as FastpathApi[M]['reply'];
  }

  /**
   * Calls a method of any object. uhttpd reports a missing grant like an expired session, so a
   * second call distinguishes `denied` from `session`.
   *
   * @param limit timeout in milliseconds
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

  /** Reports whether the session is valid: rpcd answers only valid sessions. */
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

export interface Login {
  session: string;
  /** Token of this browser, whose logins are throttled separately. Older routers send none. */
  browser: string | undefined;
}

/**
 * Logs in, and uses the new session for later calls.
 *
 * @param browser the token of this user's last login in this browser
 * @throws {Fault} `denied` for a wrong name or password, `slowed` if logins are throttled
 */
export async function logIn(
  ubus: Ubus,
  username: string,
  password: string,
  browser?: string,
): Promise<Login> {
  ubus.session = NULL_SESSION;
  const args = { username, password, timeout: SESSION_S };
  const reply = await requestLogin(ubus, args, browser);
  const session = reply['ubus_rpc_session'];
  if (typeof session !== 'string') throw new Fault('failed', 'login: no session');
  ubus.session = session;
  const token = reply['browser'];
  return { session, browser: typeof token === 'string' ? token : undefined };
}

/**
 * Logs in over `fastpath.access`, which throttles wrong passwords, or over rpcd if the router lacks
 * that object.
 */
async function requestLogin(
  ubus: Ubus,
  args: object,
  browser: string | undefined,
): Promise<Record<string, unknown>> {
  try {
    // Only pages of the router's own origin can read the nonce.
    const { nonce } = checked(await ubus.call('fastpath.access', 'begin', {}));
    const own = { ...args, nonce, ...(browser !== undefined && { browser }) };
    return checked(await ubus.call('fastpath.access', 'login', own));
  } catch (fault) {
    // uhttpd reports an object without a grant as a missing session.
    const missing = fault instanceof Fault && ['absent', 'session', 'gone'].includes(fault.kind);
    if (!missing) throw fault;
    return ubus.call('session', 'login', args);
  }
}

function checked(reply: Record<string, unknown>): Record<string, unknown> {
  const { error } = reply as { error?: Refused & { wait_s?: number } };
  if (!error) return reply;
  const emptyPassword = error.cause?.code === 'empty-password';
  const kind = (!emptyPassword && { denied: 'denied', wait: 'slowed' }[error.code]) || 'failed';
  throw new Fault(kind as FaultKind, reasonOf('refusal', error), { seconds: error.wait_s ?? 0 });
}
