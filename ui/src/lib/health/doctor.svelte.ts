// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import { Refusal } from '../form/change.svelte';
import type { Finding, Report, Way } from './report';
import { h } from './words';

/** Samples take seconds, and a small router needs its time for the rest. */
const RUN_MS = 60_000;

/** The ubus object `fastpath.doctor`: what it found, and what it was asked to do. */
export class Doctor {
  /** What was found last; stays while a newer one is made, and when that fails. */
  report = $state.raw<Report | null>(null);
  busy = $state(false);
  /** Why there is no newer report, in words. */
  trouble = $state('');

  constructor(
    private readonly api: Pick<Fastpath, 'request'>,
    private readonly lang: string,
  ) {}

  /** Looks at everything anew. Faults are told in `trouble` and thrown. */
  async run(signal?: AbortSignal): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    const { api, lang } = this;
    try {
      const reply = await api.request('fastpath.doctor', 'run', { lang }, signal, RUN_MS);
      this.report = answerOf(reply) as unknown as Report;
      this.trouble = '';
    } catch (fault) {
      if (!signal?.aborted) this.trouble = wordsFor(fault);
      throw fault;
    } finally {
      this.busy = false;
    }
  }

  /** Has a step done; answers what the router says of it. */
  async fix({ id }: Finding): Promise<string> {
    const { api, lang } = this;
    const args = { id, lang };
    const reply = await api.request('fastpath.doctor', 'fix', args, undefined, RUN_MS);
    return String(answerOf(reply)['said'] ?? '');
  }

  /** Which size of packets arrives at a host. */
  async pmtu(target: string): Promise<Way> {
    const args = { target };
    const reply = await this.api.request('fastpath.doctor', 'pmtu', args, undefined, RUN_MS);
    return answerOf(reply) as unknown as Way;
  }
}

/** An object of rpcd's plug-ins cannot fail a call: it refuses in its answer. */
function answerOf(reply: Record<string, unknown>): Record<string, unknown> {
  const { error } = reply as { error?: { code: string; text: string } };
  if (error) throw new Refusal(error.code, error.text, error);
  return reply;
}

/** What a fault means to somebody who asked the doctor. */
export function wordsFor(fault: unknown): string {
  if (!(fault instanceof Fault)) throw fault;
  if (fault.kind === 'absent') return h('absent');
  if (fault.kind === 'denied') return h('denied');
  if (fault.kind === 'unreachable') return h('unreachable');
  return h('failed', { text: fault.message });
}
