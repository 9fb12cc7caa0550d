// SPDX-License-Identifier: GPL-2.0-or-later

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import { reason, type Reason } from '../cause/cause';
import { answerOf, Refusal } from '../form/change.svelte';
import type { App } from '../shell/app.svelte';
import type { Finding, Report, PathMtu } from './report';
import { h } from './messages';

type Cause = NonNullable<Reason['cause']>;

/** Timeout of a run: sampling takes seconds, and small routers are slow. */
const RUN_MS = 60_000;

export class Doctor {
  /** The last report, kept during the next run and if that fails. */
  report = $state.raw<Report | null>(null);
  busy = $state(false);
  /** Error message of the last run; empty after success. */
  trouble = $state('');
  readonly left = new Map<string, boolean>();
  private runs = 0;

  constructor(private readonly api: Pick<Fastpath, 'request'>) {}

  /** Runs all checks. A fault is thrown, and described in `trouble`. */
  async run(signal?: AbortSignal): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      const reply = await this.api.request('fastpath.doctor', 'run', {}, signal, RUN_MS);
      this.report = answerOf(reply) as unknown as Report;
      this.runs += 1;
      this.trouble = '';
    } catch (fault) {
      if (!signal?.aborted) this.trouble = messageFor(fault);
      throw fault;
    } finally {
      this.busy = false;
    }
  }

  /** Loads the last report, if the doctor has run after the router started. */
  async load(signal?: AbortSignal): Promise<void> {
    const { runs } = this;
    const reply = await this.api.request('fastpath.doctor', 'last', {}, signal);
    // A run has ended meanwhile, so this report is the older one.
    if (runs !== this.runs) return;
    try {
      this.report = answerOf(reply) as unknown as Report;
    } catch (fault) {
      if (!(fault instanceof Refusal) || fault.code !== 'none') throw fault;
    }
  }

  /** Applies a fix and returns its steps, one per line. Older routers send only text. */
  async fix({ id }: Finding): Promise<string> {
    const args = { id };
    const reply = await this.api.request('fastpath.doctor', 'fix', args, undefined, RUN_MS);
    const { said = '', steps = [] } = answerOf(reply) as { said?: string; steps?: Cause[] };
    const step = (why: string, at: number) => reason('refusal', { why, cause: steps[at] });
    return said.split('\n').map(step).join('\n');
  }

  async pmtu(target: string): Promise<PathMtu> {
    const args = { target };
    const reply = await this.api.request('fastpath.doctor', 'pmtu', args, undefined, RUN_MS);
    return answerOf(reply) as unknown as PathMtu;
  }
}

const known = new WeakMap<App, { session: string; doctor: Doctor }>();

/** Returns the doctor of this session, whose report several screens share. */
export function doctorOf(app: App): Doctor {
  const { session } = app.ubus;
  const kept = known.get(app);
  if (kept?.session === session) return kept.doctor;
  const doctor = new Doctor(app.api);
  known.set(app, { session, doctor });
  return doctor;
}

/** Codes of refusals that are outcomes rather than faults; their text needs no introduction. */
const OUTCOMES = ['busy', 'nothing', 'no-fix'];

/** Returns the error message of a fault; rethrows anything else. */
export function messageFor(fault: unknown): string {
  if (!(fault instanceof Fault)) throw fault;
  if (fault.kind === 'absent') return h('absent');
  if (fault.kind === 'denied') return h('denied');
  if (fault.kind === 'unreachable') return h('unreachable');
  if (fault instanceof Refusal && OUTCOMES.includes(fault.code)) return fault.message;
  return h('failed', { text: fault.message });
}
