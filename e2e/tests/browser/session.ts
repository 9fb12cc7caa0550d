// SPDX-License-Identifier: GPL-2.0-or-later
import type { APIRequestContext } from '@playwright/test';
import { passwords, type User } from './fixture';

/** Session id of calls without a login. */
export const NOBODY = '0'.repeat(32);

/** Calls a method over JSON-RPC: session, object, method, arguments. */
export async function rpc(request: APIRequestContext, session: string, ...call: unknown[]) {
  const data = { jsonrpc: '2.0', id: 1, method: 'call', params: [session, ...call] };
  return (await (await request.post('/ubus', { data })).json()) as {
    error?: { code: number };
    result?: [number, Record<string, unknown>?];
  };
}

export async function sessionOf(
  request: APIRequestContext,
  username: string,
  password = passwords[username as User],
): Promise<string> {
  const begun = await rpc(request, NOBODY, 'fastpath.access', 'begin', {});
  const args = { username, password, nonce: begun.result?.[1]?.['nonce'] };
  const { result } = await rpc(request, NOBODY, 'fastpath.access', 'login', args);
  return String(result?.[1]?.['ubus_rpc_session']);
}
