// SPDX-License-Identifier: GPL-2.0-or-later

import { Fault, faultOfRpc, faultOfStatus } from './errors';
import type { RequestPace } from './pace';

export const NULL_SESSION = '0'.repeat(32);

/**
 * Idempotent calls of objects that rpcd serves by running a program. Since March 2026 rpcd closes
 * the program's pipes twice, and may lose an answer when two clients call at once.
 */
const REPEATED = /^fastpath\.\w+ (get|list|check|run|pmtu|ppe|login)$/;

/** Default timeout of an answer, in milliseconds. */
const ANSWER_MS = 8000;

export interface UbusOptions {
  url: string;
  fetch?: typeof fetch;
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
   * Returns the data of the answer; `{}` if it is empty.
   *
   * @throws {Fault} if the call fails; the signal's reason if the call is aborted
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
    const name = `${object} ${method}`;
    let reply = await this.post(body, limit, signal);
    if (isLost(reply) && REPEATED.test(name)) reply = await this.post(body, limit, signal);
    return readReply(reply, name);
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

/** Reports whether rpcd lost the answer: status 5, `No response`. */
function isLost(reply: unknown): boolean {
  if (typeof reply !== 'object' || reply === null || !('result' in reply)) return false;
  return Array.isArray(reply.result) && reply.result[0] === 5;
}

/** Returns the data of a JSON-RPC reply. `name` is the call in the text of a fault. */
function readReply(reply: unknown, name: string): Record<string, unknown> {
  if (typeof reply !== 'object' || reply === null) {
    throw new Fault('unreachable', `${name}: not a JSON-RPC answer`);
  }
  if ('error' in reply) {
    const error = reply.error as { code?: number; message?: string } | null;
    throw faultOfRpc(error?.code ?? 0, error?.message ?? 'unknown error', name);
  }
  const result = 'result' in reply ? reply.result : undefined;
  if (!Array.isArray(result)) throw new Fault('unreachable', `${name}: not a JSON-RPC answer`);
  const [status, data] = result as [number, Record<string, unknown> | undefined];
  if (status !== 0) throw faultOfStatus(status, name);
  return data ?? {};
}
