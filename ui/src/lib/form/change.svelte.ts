// SPDX-License-Identifier: GPL-2.0-or-later
/** A change of the configuration as the page follows it: check, apply, when it is confirmed,
 * reverted or rolled back; its time limits (60 s to confirm, 120 s where a connection dials again,
 * 3 or 12 s to settle, 35 s at most). */

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

/** An older router does not send `label` and `what`. */
export type Line = Omit<Api.Line, 'label' | 'what'> & Partial<Api.Line>;

/** The content of a change: edits, or the number of an older change to undo, with `since` every
 * later one too. */
export type Wanted = { edits: readonly Edit[] } | { undo: number; since?: boolean };

/** The effects of a change that is not applied yet. */
export interface Review {
  problems: Problem[];
  diff: Line[];
  cuts: Api.Cut[];
  /** Exposures to the Internet. */
  exposes?: Exposure[];
  /** Access between zones that it grants or withdraws; an older router does not send it. */
  access?: Access[];
}

/** A newer router may send other codes. */
export type Access = Omit<Api.Access, 'code'> & { code: string };

/** The consent of the administrator: to a cut, to zones opened to the Internet, and to the end of
 * connections that new rules may forbid. */
export type Consent = Pick<
  Api.ChangeApi['apply']['request'],
  'cut_ok' | 'accept_exposure' | 'end_connections'
>;

/** A change that is in force and is rolled back unless it is confirmed. */
export type Pending = Omit<Api.Pending, 'diff' | 'problems' | 'seconds' | Reported> &
  Partial<Pick<Api.Pending, Reported>> & { diff: Line[]; problems?: readonly Problem[] };
type Reported = 'mine' | 'in_force';

/** How a change ended. */
export type Ended = Api.Ended;

/** A change that has ended, with its diff. */
export type Done = Omit<Api.Past, 'diff' | 'undoable_since'> &
  Partial<Pick<Api.Past, 'undoable_since'>> & { diff: Line[] };

/** How a change of this page is proved, and the action at its end. */
export interface Care {
  /** Asked before it is confirmed, in addition to the router's own state. */
  proof?: () => Promise<boolean>;
  /** Done before the change is shown as kept: screens of the files have to show the new ones. */
  reread?: () => Promise<void>;
}

/** How the last change on this page ended: `kept`, rolled back by a user or by the timer, or by the
 * page because a connection did not come back. */
export type Outcome = '' | 'kept' | 'reverted' | 'expired' | 'power-cut' | 'line-down';

/** An object of rpcd's plug-ins cannot fail a call: it refuses in its answer. */
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

/** The object `fastpath.change`. */
export class Router {
  constructor(private readonly api: Pick<Fastpath, 'request'>) {}

  /** @throws {Fault} a `Refusal` when the router understood and does not want to */
  async ask(
    method: keyof Api.ChangeApi,
    args: object,
    signal?: AbortSignal,
    limit?: number,
  ): Promise<Record<string, unknown>> {
    return answerOf(await this.api.request('fastpath.change', method, args, signal, limit));
  }
}

/** Time in which the page has to find the router again. */
export const UNDO_S = 60;
/** The same where a connection dials again: the provider may hold the old session for a while. */
export const REDIAL_S = 120;
/** The page rolls back this long before the router does, to say why. */
const LAST_CALL_MS = 6000;
/**
 * The router brings a change into force after it has answered: only a later answer proves that it
 * is still reachable. Where the router does not know, the page waits this long. Interfaces take
 * longest; other settings cannot disconnect anybody.
 */
const SETTLE_MS = 12_000;
const SETTLE_OTHERS_MS = 3000;
/** A part that never comes into force, such as a line nobody answers, must not undo the rest. */
const PATIENCE_MS = 35_000;
const cutting = ['network', 'firewall'];
/** An unreachable router does not answer: the page asks again soon. */
const ASK_MS = 2500;
/** Staging and comparing takes a small router its time. */
const APPLY_MS = 25_000;

const OWN = 'fastpath.change';
const LINES = 'fastpath.change.lines';

/** The one change that may be under way on a router, seen from this page. */
export class Change {
  /** In force, waiting for its confirmation. */
  pending = $state.raw<Pending | null>(null);
  /** When it is rolled back, by this browser's clock. */
  until_ms = $state(0);
  /** The last changes, newest first. */
  changes = $state.raw<readonly Done[]>([]);
  outcome = $state<Outcome>('');
  /** The change that ended so. */
  ended = $state.raw<Ended | null>(null);
  /** Problems for which the daemon refused the last change of this page. */
  refused = $state.raw<readonly Problem[]>([]);
  /** The page made the pending one, and confirms it when it can. */
  own = $state(false);
  /** Edits are on their way to the router. */
  busy = $state(false);
  /** Connections that were up before the change and are down. */
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

  /** Brings edits into force, for a while: `follow` confirms them. */
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
      // The router counts from the request, and answers when the change is in force.
      this.until_ms = asked + given * 1000;
      this.storage.setItem(LINES, JSON.stringify(lines));
    } finally {
      this.busy = false;
    }
  }

  /** The Internet connections as they are; none where the daemon does not answer. */
  private async wan(signal?: AbortSignal): Promise<readonly Wan[]> {
    const reply = await this.api.request('fastpath', 'status', {}, signal).catch(tolerated);
    return ((reply ?? {})['wan'] ?? []) as readonly Wan[];
  }

  /** Whether each connection that was up before the change is up again. */
  private async linesBack(signal: AbortSignal): Promise<boolean> {
    const lines = JSON.parse(this.storage.getItem(LINES) ?? '[]') as string[];
    if (lines.length === 0) return true;
    const reply = await this.api.request('fastpath', 'status', {}, signal, ASK_MS);
    this.down = linesDown(lines, reply['wan'] as readonly Wan[]);
    return this.down.length === 0;
  }

  /** The edits that undo a change come from the router, which has the previous values. */
  private async editsOf(wanted: Wanted): Promise<readonly Edit[]> {
    if ('edits' in wanted) return wanted.edits;
    const { undo: id, since = false } = wanted;
    const args = since ? { id, since } : { id };
    const reply = await this.router.ask('undo', args, undefined, APPLY_MS);
    return reply['edits'] as readonly Edit[];
  }

  /** The router has begun a change for this page, asked by whatever method. */
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

  /** Requests the pending and the past changes; determines how a change of this page ended. */
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

  /** Reads the last changes. */
  async list(signal?: AbortSignal): Promise<void> {
    const reply = await this.router.ask('list', {}, signal);
    this.changes = (reply['changes'] ?? []) as Done[];
  }

  /** Keeps a change; also one of this administrator's from another window. */
  async confirm(): Promise<void> {
    if (this.pending) await this.router.ask('confirm', { id: this.pending.id });
    await this.refresh();
  }

  /** Rolls a change back at once. */
  async revert(): Promise<void> {
    if (this.pending) await this.router.ask('revert', { id: this.pending.id });
    await this.refresh();
  }

  /**
   * Follows a change until it has ended, through the time in which the router cannot be reached.
   * One of this page's own is confirmed as soon as the router answers after it.
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
        } else if (this.own && this.proven() && ((await this.care.proof?.()) ?? true)) {
          if (await this.linesBack(signal)) await this.confirm();
          else if (this.until_ms - Date.now() < LAST_CALL_MS) await this.revert();
        }
      } catch (fault) {
        if (!signal.aborted) tolerated(fault);
      }
    }
  }

  /** Whether the answer just had was one of a router that works as the change wants it. */
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

/** A change of the network may prevent an answer, which is tolerated; a refusal is final. */
function tolerated(fault: unknown): void {
  if (!(fault instanceof Fault)) throw fault;
  if (fault.kind === 'session') throw fault;
}

const known = new WeakMap<App, Change>();

/** The change of this app. */
export function changeOf(app: App): Change {
  const change = known.get(app) ?? new Change(app.api, sessionStorage, location.hostname);
  known.set(app, change);
  return change;
}
