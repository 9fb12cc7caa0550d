// SPDX-License-Identifier: GPL-2.0-or-later
/** Checks and applies a configuration change, and tracks it until it is kept or rolled back. */

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { Wan } from '../api/types';
import type * as Api from '../api/types-change';
import { reasonOf, type Refused } from '../cause/cause';
import type { Params } from '../i18n/t';
import { pause } from '../live/pause';
import type { App } from '../shell/app.svelte';
import type { Exposure } from './exposure';
import { linesDown, linesUp, mayDisconnect, reconnects } from './line';
import type { Edit } from './sections';

export type Problem = Omit<Api.Problem, 'code' | 'params'> & { code: string; params?: Params };

/** Older routers do not send `label` and `what`. */
export type Line = Omit<Api.Line, 'label' | 'what'> & Partial<Api.Line>;

/**
 * Content of a change: edits, or the id of a change to undo. `since` includes all later changes.
 */
export type Wanted = { edits: readonly Edit[] } | { undo: number; since?: boolean };

export interface Review {
  problems: Problem[];
  diff: Line[];
  cuts: Api.Cut[];
  exposes?: Exposure[];
  /** Access between zones that the change grants or revokes; older routers do not send it. */
  access?: Access[];
}

export type Access = Omit<Api.Access, 'code'> & { code: string };

/**
 * Consents to a connectivity loss, to exposures of zones, and to the end of connections that new
 * rules may forbid.
 */
export type Consent = Pick<
  Api.ChangeApi['apply']['request'],
  'cut_ok' | 'accept_exposure' | 'end_connections'
>;

export type Pending = Omit<Api.Pending, 'diff' | 'problems' | 'seconds' | Reported> &
  Partial<Pick<Api.Pending, Reported>> & { diff: Line[]; problems?: readonly Problem[] };
type Reported = 'mine' | 'in_force';

export type Ended = Api.Ended;

export type Done = Omit<Api.Past, 'diff' | 'undoable_since'> &
  Partial<Pick<Api.Past, 'undoable_since'>> & { diff: Line[] };

export interface Callbacks {
  /** Called before the change is shown as kept, so that screens show the new files. */
  reread?: () => Promise<void>;
}

/** Outcome of this page's last change. `line-down`: rolled back because a WAN did not come back. */
export type Outcome = '' | 'kept' | 'reverted' | 'expired' | 'power-cut' | 'line-down';

/** A refusal inside a reply, because rpcd's plug-ins cannot fail a call. */
export class Refusal extends Fault {
  constructor(
    readonly code: string,
    text: string,
    readonly more: Record<string, unknown>,
  ) {
    super('failed', text);
  }
}

/** @throws {Refusal} if the answer is one */
export function answerOf(reply: Record<string, unknown>): Record<string, unknown> {
  const { error } = reply as { error?: Refused };
  if (error) throw new Refusal(error.code, reasonOf('refusal', error), { ...error });
  return reply;
}

export class Router {
  constructor(private readonly api: Pick<Fastpath, 'request'>) {}

  /** @throws {Fault} a `Refusal` if the router refuses the call */
  async ask(
    method: keyof Api.ChangeApi,
    args: object,
    signal?: AbortSignal,
    limit?: number,
  ): Promise<Record<string, unknown>> {
    return answerOf(await this.api.request('fastpath.change', method, args, signal, limit));
  }
}

/** Seconds until the roll-back, in which the page must reach the router. */
export const CONFIRM_S = 60;
/**
 * Seconds until the roll-back if a WAN reconnects; the provider may keep the old session for a
 * while.
 */
export const RECONNECT_S = 120;
/** The page rolls back this long before the router would, to report the reason. */
const REVERT_MARGIN_MS = 6000;
/**
 * Delay of the confirmation if the router does not report `in_force`. The router applies a change
 * after its reply, so only a later reply proves that it is reachable. Network changes take longest;
 * other files cannot disconnect anybody.
 */
const SETTLE_MS = 12_000;
const SETTLE_OTHERS_MS = 3000;
/**
 * Maximum wait for `in_force`. A part of a change may never come into force, such as a WAN without
 * a peer.
 */
const IN_FORCE_TIMEOUT_MS = 35_000;
const disruptive = ['network', 'firewall'];
/** Timeout of polls; short, because an unreachable router does not answer. */
const POLL_TIMEOUT_MS = 2500;
/** Timeout of calls that stage and compare files, which is slow on small routers. */
const APPLY_TIMEOUT_MS = 25_000;

const OWN = 'fastpath.change';
const LINES = 'fastpath.change.lines';

/**
 * Tracks the one change that may be pending on the router.
 *
 *     apply -> pending -+- confirm -> kept
 *                       +- revert --> reverted, line-down
 *                       +- timeout -> expired, power-cut, line-down
 */
export class Change {
  pending = $state.raw<Pending | null>(null);
  /** Time of the roll-back by this browser's clock. */
  until_ms = $state(0);
  changes = $state.raw<readonly Done[]>([]);
  outcome = $state<Outcome>('');
  ended = $state.raw<Ended | null>(null);
  /** Problems for which the daemon refused this page's last change. */
  refused = $state.raw<readonly Problem[]>([]);
  /** This page applied the pending change and confirms it. */
  own = $state(false);
  busy = $state(false);
  down = $state.raw<readonly string[]>([]);
  readonly router: Router;
  private callbacks: Callbacks = {};
  private confirmAfter = 0;
  private inForceDeadline = 0;

  constructor(
    private readonly api: Pick<Fastpath, 'request'>,
    private readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
    private readonly via: string,
  ) {
    this.router = new Router(api);
  }

  async check(wanted: Wanted): Promise<Review> {
    const args = { edits: await this.editsOf(wanted), via: this.via };
    const reply = await this.router.ask('check', args, undefined, APPLY_TIMEOUT_MS);
    return reply as unknown as Review;
  }

  /** Applies edits with a roll-back timeout. `follow` confirms them. */
  async apply(
    wanted: Wanted,
    consent: Consent = {},
    note = '',
    callbacks: Callbacks = {},
  ): Promise<void> {
    this.busy = true;
    try {
      const edits = await this.editsOf(wanted);
      const { cut_ok = false, accept_exposure = [], end_connections = false } = consent;
      const opened = accept_exposure.length > 0 ? { accept_exposure: [...accept_exposure] } : {};
      const ends = end_connections ? { end_connections } : {};
      const lines = mayDisconnect(edits) ? linesUp(await this.wan()) : [];
      const seconds = reconnects(edits, lines) ? RECONNECT_S : CONFIRM_S;
      const args = { edits, via: this.via, seconds, cut_ok, ...opened, ...ends, note };
      const asked = Date.now();
      const reply = await this.router.ask('apply', args, undefined, APPLY_TIMEOUT_MS);
      const harmless = edits.every(({ config }) => !disruptive.includes(config));
      const settle = harmless ? SETTLE_OTHERS_MS : SETTLE_MS;
      const given = Number(reply['seconds'] ?? seconds);
      this.track(reply['id'] as number, given, settle, callbacks);
      // The router's timeout starts with the request.
      this.until_ms = asked + given * 1000;
      this.storage.setItem(LINES, JSON.stringify(lines));
    } finally {
      this.busy = false;
    }
  }

  private async wan(signal?: AbortSignal): Promise<readonly Wan[]> {
    const reply = await this.api.request('fastpath', 'status', {}, signal).catch(ignoreFault);
    return ((reply ?? {})['wan'] ?? []) as readonly Wan[];
  }

  private async linesBack(signal: AbortSignal): Promise<boolean> {
    const lines = JSON.parse(this.storage.getItem(LINES) ?? '[]') as string[];
    if (lines.length === 0) return true;
    const reply = await this.api.request('fastpath', 'status', {}, signal, POLL_TIMEOUT_MS);
    this.down = linesDown(lines, reply['wan'] as readonly Wan[]);
    return this.down.length === 0;
  }

  /** Returns the edits. For an undo the router derives them from the previous values. */
  private async editsOf(wanted: Wanted): Promise<readonly Edit[]> {
    if ('edits' in wanted) return wanted.edits;
    const { undo: id, since = false } = wanted;
    const args = since ? { id, since } : { id };
    const reply = await this.router.ask('undo', args, undefined, APPLY_TIMEOUT_MS);
    return reply['edits'] as readonly Edit[];
  }

  /** Tracks a change that the router has applied for this page. */
  track(id: number, seconds: number, settle = SETTLE_MS, callbacks: Callbacks = {}): void {
    this.callbacks = callbacks;
    this.refused = [];
    this.down = [];
    this.storage.removeItem(LINES);
    this.storage.setItem(OWN, String(id));
    this.own = true;
    this.outcome = '';
    this.confirmAfter = Date.now() + settle;
    this.inForceDeadline = Date.now() + IN_FORCE_TIMEOUT_MS;
    this.until_ms = Date.now() + seconds * 1000;
    this.pending = { id, at_ms: Date.now(), user: '', note: '', diff: [], left_s: seconds };
  }

  /** Polls the pending and past changes, and determines the outcome of this page's change. */
  async refresh(signal?: AbortSignal): Promise<void> {
    const limit = this.pending ? POLL_TIMEOUT_MS : undefined;
    const reply = await this.router.ask('pending', {}, signal, limit);
    const pending = (reply['pending'] ?? null) as Pending | null;
    const last = (reply['last'] ?? null) as Ended | null;
    if (last?.id !== this.changes[0]?.id) await this.list(signal);
    const mine = this.storage.getItem(OWN);
    if (pending || mine === null) {
      this.pending = pending;
      this.own = mine !== null && String(pending?.id) === mine;
      if (pending) this.until_ms = Date.now() + pending.left_s * 1000;
      return;
    }
    const ended = [last, ...this.changes].find((each) => String(each?.id) === mine) ?? undefined;
    const { reread } = this.callbacks;
    this.callbacks = {};
    if (ended?.state === 'confirmed') await reread?.();
    this.pending = null;
    this.own = false;
    this.end(ended);
  }

  async list(signal?: AbortSignal): Promise<void> {
    const reply = await this.router.ask('list', {}, signal);
    this.changes = (reply['changes'] ?? []) as Done[];
  }

  /** Confirms the pending change, which may be from another window of this user. */
  async confirm(): Promise<void> {
    if (this.pending) await this.router.ask('confirm', { id: this.pending.id });
    await this.refresh();
  }

  async revert(): Promise<void> {
    if (this.pending) await this.router.ask('revert', { id: this.pending.id });
    await this.refresh();
  }

  /**
   * Polls until the pending change has ended, also while the router is unreachable. Confirms a
   * change of this page as soon as a reply proves that it works.
   */
  async follow(signal: AbortSignal): Promise<void> {
    await this.refresh(signal).catch(ignoreFault);
    while (this.pending && !signal.aborted) {
      await pause(1000, signal);
      try {
        await this.refresh(signal);
        if (this.own && this.pending.problems?.length) {
          this.refused = this.pending.problems;
          await this.revert();
        } else if (this.own && this.canConfirm()) {
          if (await this.linesBack(signal)) await this.confirm();
          else if (this.until_ms - Date.now() < REVERT_MARGIN_MS) await this.revert();
        }
      } catch (fault) {
        if (!signal.aborted) ignoreFault(fault);
      }
    }
  }

  /** Reports whether the change is in force, or whether the wait for that is over. */
  private canConfirm(): boolean {
    if (!this.pending) return false;
    const { in_force } = this.pending;
    if (in_force === true) return true;
    return Date.now() >= (in_force === false ? this.inForceDeadline : this.confirmAfter);
  }

  private end(done: Ended | undefined): void {
    this.storage.removeItem(OWN);
    this.storage.removeItem(LINES);
    this.ended = done ?? null;
    this.outcome = outcomeOf(done?.state ?? 'expired', this.down.length > 0);
  }
}

function outcomeOf(state: Ended['state'], down: boolean): Outcome {
  if (state === 'confirmed') return 'kept';
  return down ? 'line-down' : state;
}

/** Ignores faults, because a network change may interrupt polls; rethrows an expired session. */
function ignoreFault(fault: unknown): void {
  if (!(fault instanceof Fault)) throw fault;
  if (fault.kind === 'session') throw fault;
}

const known = new WeakMap<App, Change>();

/** Returns the change tracker that all screens of the app share. */
export function changeOf(app: App): Change {
  const change = known.get(app) ?? new Change(app.api, sessionStorage, location.hostname);
  known.set(app, change);
  return change;
}
