// SPDX-License-Identifier: GPL-2.0-or-later

/**
 * Kinds of faults, by the reaction of the page:
 *
 * - `unreachable`: no answer from the router; keep the last values and retry.
 * - `session`: the session is unknown or has expired; log in again.
 * - `denied`: the session is valid, but lacks the right to this call.
 * - `absent`: the router answers, but the daemon does not run.
 * - `gone`: the flow, block or other object of the call does not exist.
 * - `slowed`: too many wrong passwords; logins are refused for `seconds`.
 * - `failed`: the daemon refused the call or failed.
 */
export type FaultKind =
  'unreachable' | 'session' | 'denied' | 'absent' | 'gone' | 'slowed' | 'failed';

export class Fault extends Error {
  /** Seconds until the router accepts a retry; 0 if at once. */
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

/** Texts of `ubus_strerror`, by status. */
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

export function faultOfStatus(status: number, call: string): Fault {
  const text = `${call}: ${statusName(status)}`;
  if (status === 4) return new Fault('gone', text);
  if (status === 6) return new Fault('denied', text);
  // The daemon hangs or has just died, so the call timed out or was lost.
  if (status === 7 || status === 10 || status === 3) return new Fault('absent', text);
  return new Fault('failed', text);
}

export function faultOfRpc(code: number, message: string, call: string): Fault {
  const text = `${call}: ${message}`;
  if (code === RPC_ACCESS_DENIED) return new Fault('session', text);
  if (code === RPC_OBJECT_NOT_FOUND) return new Fault('absent', text);
  return new Fault('failed', text);
}
