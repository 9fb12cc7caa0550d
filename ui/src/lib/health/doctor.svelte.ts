// SPDX-License-Identifier: GPL-2.0-or-later
/** Calls of `fastpath.doctor`, and the texts of their faults. */

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import { reason, type Reason } from '../cause/cause';
import { answerOf, Refusal } from '../form/change.svelte';
import type { App } from '../shell/app.svelte';
import type { Finding, Report, Way } from './report';
import { h } from './messages';

type Cause = NonNullable<Reason['cause']>;

/** Timeout of a run: samples take seconds, and small routers are slow at the other checks. */
const RUN_MS = 60_000;

/** The doctor's last report and its methods. */
export class Doctor {
  /** The last report; kept during the next run and if that fails. */
  report = $state.raw<Report | null>(null);
  busy = $state(false);
  /** Why the last run failed; empty after a successful run. */
  trouble = $state('');
  /** Findings that the reader has opened or closed, by id. */
  readonly left = new Map<string, boolean>();
  /** Number of runs that ended with a report. */
  private runs = 0;

  constructor(private readonly api: Pick<Fastpath, 'request'>) {}

  /** Runs all checks. A fault is thrown, and its text is in `trouble`. */
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

  /** Reads the last report, if there is one since the router started. */
  async load(signal?: AbortSignal): Promise<void> {
    const { runs } = this;
    const reply = await this.api.request('fastpath.doctor', 'last', {}, signal);
    // Requested before a run that has ended since, so this report may be the older one.
    if (runs !== this.runs) return;
    try {
      this.report = answerOf(reply) as unknown as Report;
    } catch (fault) {
      if (!(fault instanceof Refusal) || fault.code !== 'none') throw fault;
    }
  }

  /** Applies a fix and returns its steps, one per line. Older routers send them as text only. */
  async fix({ id }: Finding): Promise<string> {
    const args = { id };
    const reply = await this.api.request('fastpath.doctor', 'fix', args, undefined, RUN_MS);
    const { said = '', steps = [] } = answerOf(reply) as { said?: string; steps?: Cause[] };
    const step = (why: string, at: number) => reason('refusal', { why, cause: steps[at] });
    return said.split('\n').map(step).join('\n');
  }

  /** Tests which packet sizes arrive at a host. */
  async pmtu(target: string): Promise<Way> {
    const args = { target };
    const reply = await this.api.request('fastpath.doctor', 'pmtu', args, undefined, RUN_MS);
    return answerOf(reply) as unknown as Way;
  }
}

const known = new WeakMap<App, { session: string; doctor: Doctor }>();

/** Returns the doctor of this session; several screens share its report. */
export function doctorOf(app: App): Doctor {
  const { session } = app.ubus;
  const kept = known.get(app);
  if (kept?.session === session) return kept.doctor;
  const doctor = new Doctor(app.api);
  known.set(app, { session, doctor });
  return doctor;
}

/** Refusals that are outcomes rather than faults, so their text needs no introduction. */
const OUTCOMES = ['busy', 'nothing', 'no-fix'];

/** Returns the text of a fault; throws anything that is not a `Fault`. */
export function messageFor(fault: unknown): string {
  if (!(fault instanceof Fault)) throw fault;
  if (fault.kind === 'absent') return h('absent');
  if (fault.kind === 'denied') return h('denied');
  if (fault.kind === 'unreachable') return h('unreachable');
  if (fault instanceof Refusal && OUTCOMES.includes(fault.code)) return fault.message;
  return h('failed', { text: fault.message });
}
