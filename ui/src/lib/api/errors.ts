// SPDX-License-Identifier: GPL-2.0-or-later
/** Maps ubus status codes and uhttpd's JSON-RPC errors to faults. */

/**
 * Kinds of faults, by the reaction of the page:
 *
 * - `unreachable`: no answer, or none from the router; keep the known state and retry.
 * - `session`: the session is unknown or has expired; log in again.
 * - `denied`: the session is valid, but may not make this call.
 * - `absent`: the router answers, but the daemon does not run.
 * - `gone`: the object does not exist any more.
 * - `slowed`: too many wrong passwords; logins are refused for `seconds`.
 * - `failed`: the daemon refused the call or failed.
 */
export type FaultKind =
  'unreachable' | 'session' | 'denied' | 'absent' | 'gone' | 'slowed' | 'failed';

export class Fault extends Error {
  /** Seconds until a retry makes sense; 0 for an immediate retry. */
  readonly seconds: number;

  constructor(
    readonly kind: FaultKind,
    message: string,
    options?: ErrorOptions & { seconds?: number },
  ) {
    super(message, options);
    this.seconds = options?.seconds ?? 0;
    this.name = 'Fault';
  }
}

/** JSON-RPC errors of uhttpd's ubus module. */
const RPC_OBJECT_NOT_FOUND = -32000;
const RPC_ACCESS_DENIED = -32002;

/** Names of the ubus status codes, from `ubus_strerror`. */
const statusNames = [
  'Success',
  'Invalid command',
  'Invalid argument',
  'Method not found',
  'Not found',
  'No response',
  'Permission denied',
  'Request timed out',
  'Operation not supported',
  'Unknown error',
  'Connection failed',
];

function statusName(status: number): string {
  return statusNames[status] ?? `status ${status}`;
}

/** Returns the fault for a non-zero ubus status. */
export function faultOfStatus(status: number, what: string): Fault {
  const text = `${what}: ${statusName(status)}`;
  if (status === 4) return new Fault('gone', text);
  if (status === 6) return new Fault('denied', text);
  // The call timed out or was lost because the daemon hangs or has just died.
  if (status === 7 || status === 10 || status === 3) return new Fault('absent', text);
  return new Fault('failed', text);
}

/** Returns the fault for a JSON-RPC error. */
export function faultOfRpc(code: number, message: string, what: string): Fault {
  const text = `${what}: ${message}`;
  if (code === RPC_ACCESS_DENIED) return new Fault('session', text);
  if (code === RPC_OBJECT_NOT_FOUND) return new Fault('absent', text);
  return new Fault('failed', text);
}
