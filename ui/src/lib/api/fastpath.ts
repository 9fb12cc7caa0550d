// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from './errors';
import { subscribe } from './stream';
import type { Engine, FastpathApi, Tick } from './types';
import type { Ubus } from './ubus';

type Method = Exclude<keyof FastpathApi, 'tick'>;

/** What `session login` answers, as far as it is used. */
export interface Login {
  session: string;
  /** Objects and methods this session may call. */
  acls: Record<string, string[]>;
}

/** The methods of the ubus object `fastpath`, typed by their schemas. */
export class Fastpath {
  constructor(readonly ubus: Ubus) {}

  async call<M extends Method>(
    method: M,
    args: FastpathApi[M]['request'],
    signal?: AbortSignal,
  ): Promise<FastpathApi[M]['reply']> {
    const reply = await this.ubus.call('fastpath', method, args, signal);
    return reply as unknown as FastpathApi[M]['reply'];
  }

  /** The daemon's ticks, until the stream ends. */
  async *ticks(signal: AbortSignal): AsyncGenerator<Tick> {
    for await (const event of subscribe(this.ubus.url, 'fastpath', this.ubus.session, signal)) {
      if (event.event === 'tick') yield JSON.parse(event.data) as Tick;
    }
  }

  /**
   * Chooses the engine. uhttpd answers a missing grant and a dead session alike, so after a
   * refusal it is asked which of the two it was.
   */
  async setEngine(engine: Engine): Promise<FastpathApi['engine']['reply']> {
    try {
      return await this.call('engine', { set: engine });
    } catch (fault) {
      if (fault instanceof Fault && fault.kind === 'session' && (await this.sessionLives())) {
        throw new Fault('denied', fault.message);
      }
      throw fault;
    }
  }

  private async sessionLives(): Promise<boolean> {
    const args = { scope: 'ubus', object: 'fastpath', function: 'status' };
    try {
      return (await this.ubus.call('session', 'access', args))['access'] === true;
    } catch {
      return false;
    }
  }
}

/** An hour, like LuCI's: long enough to come back to a hidden tab. */
const SESSION_S = 3600;

/**
 * Logs in and makes the new session the one of later calls.
 *
 * @throws {Fault} `denied` for a wrong name or password
 */
export async function logIn(ubus: Ubus, username: string, password: string): Promise<Login> {
  ubus.session = '0'.repeat(32);
  const args = { username, password, timeout: SESSION_S };
  const reply = await ubus.call('session', 'login', args);
  const session = reply['ubus_rpc_session'];
  if (typeof session !== 'string') throw new Fault('failed', 'session login: no session');
  ubus.session = session;
  const acls = reply['acls'] as { ubus?: Record<string, string[]> } | undefined;
  return { session, acls: acls?.ubus ?? {} };
}
