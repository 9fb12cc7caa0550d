// SPDX-License-Identifier: GPL-2.0-or-later
/** Calls of `fastpath.doctor` (run, last, fix, pmtu), 60 s for those that run something, and the
 * texts of their faults. */

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import { reason, type Reason } from '../cause/cause';
import { answerOf, Refusal } from '../form/change.svelte';
import type { App } from '../shell/app.svelte';
import type { Finding, Report, Way } from './report';
import { h } from './messages';

type Cause = NonNullable<Reason['cause']>;

/** Samples take seconds, and a small router needs its time for the rest. */
const RUN_MS = 60_000;

/** The ubus object `fastpath.doctor`: its last report, and its methods. */
export class Doctor {
  /** The last report; stays during the next run, and when that fails. */
  report = $state.raw<Report | null>(null);
  busy = $state(false);
  /** Why the last run failed; empty after a successful run. */
  trouble = $state('');
  /** Which findings the reader opened or closed, by id. */
  readonly left = new Map<string, boolean>();
  /** How many runs have ended with a report. */
  private runs = 0;

  constructor(private readonly api: Pick<Fastpath, 'request'>) {}

  /** Runs all checks. `trouble` has a fault's text, and it is thrown. */
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

  /** Reads the last report; there may be none since the router started. */
  async load(signal?: AbortSignal): Promise<void> {
    const { runs } = this;
    const reply = await this.api.request('fastpath.doctor', 'last', {}, signal);
    // Requested before a run that has ended since: its report may be the older one.
    if (runs !== this.runs) return;
    try {
      this.report = answerOf(reply) as unknown as Report;
    } catch (fault) {
      if (!(fault instanceof Refusal) || fault.code !== 'none') throw fault;
    }
  }

  /** Carries out a fix; its steps, each in a line. An older router sends them as a text only. */
  async fix({ id }: Finding): Promise<string> {
    const args = { id };
    const reply = await this.api.request('fastpath.doctor', 'fix', args, undefined, RUN_MS);
    const { said = '', steps = [] } = answerOf(reply) as { said?: string; steps?: Cause[] };
    const step = (why: string, at: number) => reason('refusal', { why, cause: steps[at] });
    return said.split('\n').map(step).join('\n');
  }

  /** Which size of packets arrives at a host. */
  async pmtu(target: string): Promise<Way> {
    const args = { target };
    const reply = await this.api.request('fastpath.doctor', 'pmtu', args, undefined, RUN_MS);
    return answerOf(reply) as unknown as Way;
  }
}

const known = new WeakMap<App, { session: string; doctor: Doctor }>();

/** The doctor of this session: its report is shown on several screens, and to nobody else. */
export function doctorOf(app: App): Doctor {
  const { session } = app.ubus;
  const kept = known.get(app);
  if (kept?.session === session) return kept.doctor;
  const doctor = new Doctor(app.api);
  known.set(app, { session, doctor });
  return doctor;
}

/** Refusals that are an outcome rather than a fault: their text needs no introduction. */
const OUTCOMES = ['busy', 'nothing', 'no-fix'];

/** The text of a fault of the doctor. */
export function messageFor(fault: unknown): string {
  if (!(fault instanceof Fault)) throw fault;
  if (fault.kind === 'absent') return h('absent');
  if (fault.kind === 'denied') return h('denied');
  if (fault.kind === 'unreachable') return h('unreachable');
  if (fault instanceof Refusal && OUTCOMES.includes(fault.code)) return fault.message;
  return h('failed', { text: fault.message });
}
