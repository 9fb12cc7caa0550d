// SPDX-License-Identifier: GPL-2.0-or-later
/** Calls of `fastpath.doctor` (run, fix, pmtu), 60 s for each, and the texts of their faults. */

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import { answerOf, Refusal } from '../form/change.svelte';
import { translated } from '../i18n/t';
import type { Finding, Report, Way } from './report';
import { h } from './messages';

/** Samples take seconds, and a small router needs its time for the rest. */
const RUN_MS = 60_000;

/** The ubus object `fastpath.doctor`: its last report, and its methods. */
export class Doctor {
  /** The last report; stays during the next run, and when that fails. */
  report = $state.raw<Report | null>(null);
  busy = $state(false);
  /** Why the last run failed; empty after a successful run. */
  trouble = $state('');

  constructor(private readonly api: Pick<Fastpath, 'request'>) {}

  /** Runs all checks. `trouble` has a fault's text, and it is thrown. */
  async run(signal?: AbortSignal): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      const reply = await this.api.request('fastpath.doctor', 'run', {}, signal, RUN_MS);
      this.report = answerOf(reply) as unknown as Report;
      this.trouble = '';
    } catch (fault) {
      if (!signal?.aborted) this.trouble = messageFor(fault);
      throw fault;
    } finally {
      this.busy = false;
    }
  }

  /** Carries out a step; the router's log of it. */
  async fix({ id }: Finding): Promise<string> {
    const args = { id };
    const reply = await this.api.request('fastpath.doctor', 'fix', args, undefined, RUN_MS);
    return String(answerOf(reply)['said'] ?? '');
  }

  /** Which size of packets arrives at a host. */
  async pmtu(target: string): Promise<Way> {
    const args = { target };
    const reply = await this.api.request('fastpath.doctor', 'pmtu', args, undefined, RUN_MS);
    return answerOf(reply) as unknown as Way;
  }
}

/** The text of a fault of the doctor. */
export function messageFor(fault: unknown): string {
  if (!(fault instanceof Fault)) throw fault;
  if (fault.kind === 'absent') return h('absent');
  if (fault.kind === 'denied') return h('denied');
  if (fault.kind === 'unreachable') return h('unreachable');
  const code = fault instanceof Refusal ? fault.code : '';
  return translated('health', `refused.${code}`) ?? h('failed', { text: fault.message });
}
