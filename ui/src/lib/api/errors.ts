// SPDX-License-Identifier: GPL-2.0-or-later
/** Which ubus status and which JSON-RPC error of uhttpd becomes which fault (unreachable, session,
 * denied, absent, gone, slowed, failed). */

/**
 * Why a call failed, by the reaction of the page:
 *
 * - `unreachable`: no answer, or not one from the router; keep the known state and retry.
 * - `session`: the session is unknown or has expired; log in again.
 * - `denied`: the session lives, but may not make this call.
 * - `absent`: the router answers, the daemon does not run.
 * - `gone`: the object does not exist any more.
 * - `slowed`: too many wrong passwords; refused unread for so many seconds.
 * - `failed`: the daemon refused or could not.
 */
export type FaultKind =
  'unreachable' | 'session' | 'denied' | 'absent' | 'gone' | 'slowed' | 'failed';

/** A call that did not give an answer. */
export class Fault extends Error {
  /** Before it makes sense to try again; 0: at once. */
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

/** Names of the ubus status codes, as `ubus_strerror` has them. */
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

/** The fault a non-zero ubus status stands for. */
export function faultOfStatus(status: number, what: string): Fault {
  const text = `${what}: ${statusName(status)}`;
  if (status === 4) return new Fault('gone', text);
  if (status === 6) return new Fault('denied', text);
  // Timed out or lost before it reached the daemon: it hangs or has just died.
  if (status === 7 || status === 10 || status === 3) return new Fault('absent', text);
  return new Fault('failed', text);
}

/** The fault a JSON-RPC error stands for. */
export function faultOfRpc(code: number, message: string, what: string): Fault {
  const text = `${what}: ${message}`;
  if (code === RPC_ACCESS_DENIED) return new Fault('session', text);
  if (code === RPC_OBJECT_NOT_FOUND) return new Fault('absent', text);
  return new Fault('failed', text);
}
