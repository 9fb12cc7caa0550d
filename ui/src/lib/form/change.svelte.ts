// SPDX-License-Identifier: GPL-2.0-or-later
/** Checks and applies a change of the configuration, and follows it until it is kept or rolled
 * back. */

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { Wan } from '../api/types';
import type * as Api from '../api/types-change';
import { reasonOf, type Refused } from '../cause/cause';
import type { Params } from '../i18n/t';
import { pause } from '../live/pause';
import type { App } from '../shell/app.svelte';
import type { Exposure } from './exposure';
import { linesDown, linesUp, mayCut, redials } from './line';
import type { Edit } from './sections';

/** A problem of an option or a section, found by the router or by the page. */
export type Problem = Omit<Api.Problem, 'code' | 'params'> & { code: string; params?: Params };

/** Older routers do not send `label` and `what`. */
export type Line = Omit<Api.Line, 'label' | 'what'> & Partial<Api.Line>;

/** Content of a change: edits, or the number of a change to undo, with `since` including all later
 * changes. */
export type Wanted = { edits: readonly Edit[] } | { undo: number; since?: boolean };

/** Effects of a change before it is applied. */
export interface Review {
  problems: Problem[];
  diff: Line[];
  cuts: Api.Cut[];
  exposes?: Exposure[];
  /** Access between zones that the change grants or withdraws; older routers do not send it. */
  access?: Access[];
}

/** Newer routers may send other codes. */
export type Access = Omit<Api.Access, 'code'> & { code: string };

/** Consents of the administrator: to a connectivity loss, to zones opened to the Internet, and to
 * the end of connections that new rules may forbid. */
export type Consent = Pick<
  Api.ChangeApi['apply']['request'],
  'cut_ok' | 'accept_exposure' | 'end_connections'
>;

/** A change in force that is rolled back unless it is confirmed. */
export type Pending = Omit<Api.Pending, 'diff' | 'problems' | 'seconds' | Reported> &
  Partial<Pick<Api.Pending, Reported>> & { diff: Line[]; problems?: readonly Problem[] };
type Reported = 'mine' | 'in_force';

export type Ended = Api.Ended;

/** A change that has ended, with its diff. */
export type Done = Omit<Api.Past, 'diff' | 'undoable_since'> &
  Partial<Pick<Api.Past, 'undoable_since'>> & { diff: Line[] };

/** Callbacks of the component that applies a change. */
export interface Care {
  /** Called before the change is shown as kept, so that screens show the new files. */
  reread?: () => Promise<void>;
}

/** Outcome of this page's last change: kept, or why it was rolled back. `line-down`: a connection
 * did not come back. */
export type Outcome = '' | 'kept' | 'reverted' | 'expired' | 'power-cut' | 'line-down';

/** A refusal within an answer, because objects of rpcd's plug-ins cannot fail a call. */
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

/** Calls of the object `fastpath.change`. */
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

/** Time in seconds for the page to reach the router again. */
export const UNDO_S = 60;
/** Same for a reconnect: the provider may hold the old session for a while. */
export const REDIAL_S = 120;
/** The page rolls back this long before the router does, to report the reason. */
const LAST_CALL_MS = 6000;
/**
 * Delay before a confirmation if the router does not report `in_force`. The router applies a change
 * after it has answered, so only a later answer proves that it is reachable. Interfaces take
 * longest; other settings cannot disconnect anybody.
 */
const SETTLE_MS = 12_000;
const SETTLE_OTHERS_MS = 3000;
/** Limit for a part that never comes into force, such as a silent WAN, so the rest is kept. */
const PATIENCE_MS = 35_000;
const cutting = ['network', 'firewall'];
/** Short timeout of polls: an unreachable router does not answer, so the page retries soon. */
const ASK_MS = 2500;
/** Timeout of calls that stage and compare files, which takes a small router some time. */
const APPLY_MS = 25_000;

const OWN = 'fastpath.change';
const LINES = 'fastpath.change.lines';

/**
 * The one change that may be under way on a router, seen from this page.
 *
 *     apply -> pending -+- confirm -> kept
 *                       +- revert --> reverted, line-down
 *                       +- timeout -> expired, power-cut, line-down
 */
export class Change {
  /** In force and not confirmed. */
  pending = $state.raw<Pending | null>(null);
  /** Time of the rollback, by this browser's clock. */
  until_ms = $state(0);
  /** The last changes, newest first. */
  changes = $state.raw<readonly Done[]>([]);
  outcome = $state<Outcome>('');
  /** The change with this outcome. */
  ended = $state.raw<Ended | null>(null);
  /** Problems for which the daemon refused this page's last change. */
  refused = $state.raw<readonly Problem[]>([]);
  /** This page made the pending change, and confirms it when it can. */
  own = $state(false);
  /** Edits are being sent to the router. */
  busy = $state(false);
  /** Connections that were up before the change and are down now. */
  down = $state.raw<readonly string[]>([]);
  readonly router: Router;
  private care: Care = {};
  private settled = 0;
  private patient = 0;

  constructor(
    private readonly api: Pick<Fastpath, 'request'>,
    private readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
    private readonly via: string,
  ) {
    this.router = new Router(api);
  }

  async check(wanted: Wanted): Promise<Review> {
    const args = { edits: await this.editsOf(wanted), via: this.via };
    const reply = await this.router.ask('check', args, undefined, APPLY_MS);
    return reply as unknown as Review;
  }

  /** Applies edits for a limited time; `follow` confirms them. */
  async apply(wanted: Wanted, consent: Consent = {}, note = '', care: Care = {}): Promise<void> {
    this.busy = true;
    try {
      const edits = await this.editsOf(wanted);
      const { cut_ok = false, accept_exposure = [], end_connections = false } = consent;
      const opened = accept_exposure.length > 0 ? { accept_exposure: [...accept_exposure] } : {};
      const ends = end_connections ? { end_connections } : {};
      const lines = mayCut(edits) ? linesUp(await this.wan()) : [];
      const seconds = redials(edits, lines) ? REDIAL_S : UNDO_S;
      const args = { edits, via: this.via, seconds, cut_ok, ...opened, ...ends, note };
      const asked = Date.now();
      const reply = await this.router.ask('apply', args, undefined, APPLY_MS);
      const harmless = edits.every(({ config }) => !cutting.includes(config));
      const settle = harmless ? SETTLE_OTHERS_MS : SETTLE_MS;
      const given = Number(reply['seconds'] ?? seconds);
      this.begun(reply['id'] as number, given, settle, care);
      // The router counts from the request, not from its answer.
      this.until_ms = asked + given * 1000;
      this.storage.setItem(LINES, JSON.stringify(lines));
    } finally {
      this.busy = false;
    }
  }

  /** Returns the Internet connections; empty if the daemon does not answer. */
  private async wan(signal?: AbortSignal): Promise<readonly Wan[]> {
    const reply = await this.api.request('fastpath', 'status', {}, signal).catch(tolerated);
    return ((reply ?? {})['wan'] ?? []) as readonly Wan[];
  }

  /** Reports whether each connection that was up before the change is up again. */
  private async linesBack(signal: AbortSignal): Promise<boolean> {
    const lines = JSON.parse(this.storage.getItem(LINES) ?? '[]') as string[];
    if (lines.length === 0) return true;
    const reply = await this.api.request('fastpath', 'status', {}, signal, ASK_MS);
    this.down = linesDown(lines, reply['wan'] as readonly Wan[]);
    return this.down.length === 0;
  }

  /** Returns the edits; to undo a change, the router derives them from the previous values. */
  private async editsOf(wanted: Wanted): Promise<readonly Edit[]> {
    if ('edits' in wanted) return wanted.edits;
    const { undo: id, since = false } = wanted;
    const args = since ? { id, since } : { id };
    const reply = await this.router.ask('undo', args, undefined, APPLY_MS);
    return reply['edits'] as readonly Edit[];
  }

  /** Tracks a change that the router has begun for this page, by any method. */
  begun(id: number, seconds: number, settle = SETTLE_MS, care: Care = {}): void {
    this.care = care;
    this.refused = [];
    this.down = [];
    this.storage.removeItem(LINES);
    this.storage.setItem(OWN, String(id));
    this.own = true;
    this.outcome = '';
    this.settled = Date.now() + settle;
    this.patient = Date.now() + PATIENCE_MS;
    this.until_ms = Date.now() + seconds * 1000;
    this.pending = { id, at_ms: Date.now(), user: '', note: '', diff: [], left_s: seconds };
  }

  /** Requests the pending and the past changes, and determines how this page's change ended. */
  async refresh(signal?: AbortSignal): Promise<void> {
    const limit = this.pending ? ASK_MS : undefined;
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
    const { reread } = this.care;
    this.care = {};
    if (ended?.state === 'confirmed') await reread?.();
    this.pending = null;
    this.own = false;
    this.end(ended);
  }

  async list(signal?: AbortSignal): Promise<void> {
    const reply = await this.router.ask('list', {}, signal);
    this.changes = (reply['changes'] ?? []) as Done[];
  }

  /** Keeps the pending change, which may come from another window of this user. */
  async confirm(): Promise<void> {
    if (this.pending) await this.router.ask('confirm', { id: this.pending.id });
    await this.refresh();
  }

  /** Rolls the pending change back at once. */
  async revert(): Promise<void> {
    if (this.pending) await this.router.ask('revert', { id: this.pending.id });
    await this.refresh();
  }

  /**
   * Follows a change until it has ended, also while the router is unreachable. Confirms a change of
   * this page as soon as an answer proves that it works.
   */
  async follow(signal: AbortSignal): Promise<void> {
    await this.refresh(signal).catch(tolerated);
    while (this.pending && !signal.aborted) {
      await pause(1000, signal);
      try {
        await this.refresh(signal);
        if (this.own && this.pending.problems?.length) {
          this.refused = this.pending.problems;
          await this.revert();
        } else if (this.own && this.proven()) {
          if (await this.linesBack(signal)) await this.confirm();
          else if (this.until_ms - Date.now() < LAST_CALL_MS) await this.revert();
        }
      } catch (fault) {
        if (!signal.aborted) tolerated(fault);
      }
    }
  }

  /** Reports whether the change is in force, or has had its time if that is unknown. */
  private proven(): boolean {
    if (!this.pending) return false;
    const { in_force } = this.pending;
    if (in_force === true) return true;
    return Date.now() >= (in_force === false ? this.patient : this.settled);
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

/** Ignores faults, because a change of the network may prevent answers; rethrows a dead session. */
function tolerated(fault: unknown): void {
  if (!(fault instanceof Fault)) throw fault;
  if (fault.kind === 'session') throw fault;
}

const known = new WeakMap<App, Change>();

/** Returns the same change for all screens of the app. */
export function changeOf(app: App): Change {
  const change = known.get(app) ?? new Change(app.api, sessionStorage, location.hostname);
  known.set(app, change);
  return change;
}
