// SPDX-License-Identifier: GPL-2.0-or-later
/** Typed calls of the object `fastpath` and others; whether a refusal means a missing right or a
 * dead session; the login, and how long a session lives (an hour). */

import { reasonOf, type Refused } from '../cause/cause';
import { Fault, type FaultKind } from './errors';
import type { FastpathApi } from './types';
import { NULL_SESSION, type Ubus } from './ubus';

type Method = Exclude<keyof FastpathApi, 'tick' | 'alert'>;

/** The methods of the ubus object `fastpath`, typed by their schemas. */
export class Fastpath {
  constructor(readonly ubus: Ubus) {}

  /** Calls one of its methods; fails as `request` does. */
  async call<M extends Method>(
    method: M,
    args: FastpathApi[M]['request'],
    signal?: AbortSignal,
  ): Promise<FastpathApi[M]['reply']> {
    const reply = await this.request('fastpath', method, args, signal);
    return reply as unknown as FastpathApi[M]['reply'];
  }

  /**
   * Calls a method of any object. uhttpd answers a missing grant and a dead session alike, so
   * after a refusal it is asked which of the two it was: `denied` or `session`.
   *
   * @param limit how long its answer may take, in milliseconds
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

  /** Whatever it answers, it only answers to a session that lives. */
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

/** An hour, like LuCI's: long enough to come back to a hidden tab. */
const SESSION_S = 3600;

/** A login: the session, and the router's token for the next login of that name here. */
export interface Login {
  session: string;
  /** The router throttles attempts with it apart from everybody else's; older ones have none. */
  browser: string | undefined;
}

/**
 * Logs in, makes the new session the one of later calls, and answers it.
 *
 * @param browser the token of an earlier login of that name in this browser
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

/** The login that counts wrong passwords; rpcd's own on a router that does not have it. */
async function ask(
  ubus: Ubus,
  args: object,
  browser: string | undefined,
): Promise<Record<string, unknown>> {
  try {
    // Only a page of the router's own origin can read the nonce.
    const { nonce } = admitted(await ubus.call('fastpath.access', 'begin', {}));
    const own = { ...args, nonce, ...(browser !== undefined && { browser }) };
    return admitted(await ubus.call('fastpath.access', 'login', own));
  } catch (fault) {
    // Not there, or (to uhttpd the same as no session) granted to nobody.
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
