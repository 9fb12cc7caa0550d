// SPDX-License-Identifier: GPL-2.0-or-later
/** Calls ubus methods through uhttpd, and repeats some calls once if rpcd lost the answer. */

import { Fault, faultOfRpc, faultOfStatus } from './errors';
import type { RequestPace } from './pace';

/** Session of a client that has not logged in. */
export const NULL_SESSION = '0'.repeat(32);

/**
 * Calls that are safe to repeat, of objects for which rpcd runs a program. rpcd may lose such an
 * answer if two callers ask at once (since March 2026 it closes a program's pipes twice).
 */
const REPEATED = /^fastpath\.\w+ (get|list|check|run|pmtu|login)$/;

/** Timeout of an answer in milliseconds; a few calls pass a longer one. */
const ANSWER_MS = 8000;

export interface UbusOptions {
  /** Address of uhttpd's ubus interface, such as `/ubus`. */
  url: string;
  fetch?: typeof fetch;
  /** Delays requests so that a busy page stays below its rate limit. */
  pace?: RequestPace;
}

export class Ubus {
  readonly url: string;
  session = NULL_SESSION;
  private readonly fetch: typeof fetch;
  private readonly pace: RequestPace | undefined;
  private lastId = 0;

  constructor(options: UbusOptions) {
    this.url = options.url;
    this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.pace = options.pace;
  }

  /**
   * Returns the data of an answer, `{}` for an empty one.
   *
   * @throws {Fault} without an answer; an aborted call throws the signal's reason
   */
  async call(
    object: string,
    method: string,
    args: object,
    signal?: AbortSignal,
    limit = ANSWER_MS,
  ): Promise<Record<string, unknown>> {
    await this.pace?.turn(signal);
    const id = ++this.lastId;
    const params = [this.session, object, method, args];
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'call', params });
    const what = `${object} ${method}`;
    let reply = await this.post(body, limit, signal);
    if (isLost(reply) && REPEATED.test(what)) reply = await this.post(body, limit, signal);
    return readReply(reply, what);
  }

  private async post(body: string, ms: number, signal?: AbortSignal): Promise<unknown> {
    const limit = AbortSignal.timeout(ms);
    try {
      const response = await this.fetch(this.url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
        cache: 'no-store',
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
      if (!response.ok) throw new Fault('unreachable', `HTTP ${response.status}`);
      return await response.json();
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      if (cause instanceof Fault) throw cause;
      throw new Fault('unreachable', 'no answer from the router', { cause });
    }
  }
}

/** Reports whether the answer was lost: status 5, `No response`. */
function isLost(reply: unknown): boolean {
  if (typeof reply !== 'object' || reply === null || !('result' in reply)) return false;
  return Array.isArray(reply.result) && reply.result[0] === 5;
}

/** Returns the data of a JSON-RPC reply; `what` names the call in a fault's text. */
function readReply(reply: unknown, what: string): Record<string, unknown> {
  if (typeof reply !== 'object' || reply === null) {
    throw new Fault('unreachable', `${what}: not a JSON-RPC answer`);
  }
  if ('error' in reply) {
    const error = reply.error as { code?: number; message?: string } | null;
    throw faultOfRpc(error?.code ?? 0, error?.message ?? 'unknown error', what);
  }
  const result = 'result' in reply ? reply.result : undefined;
  if (!Array.isArray(result)) throw new Fault('unreachable', `${what}: not a JSON-RPC answer`);
  const [status, data] = result as [number, Record<string, unknown> | undefined];
  if (status !== 0) throw faultOfStatus(status, what);
  return data ?? {};
}
