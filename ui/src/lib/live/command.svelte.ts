// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from '../api/errors';
import type { Live } from './live.svelte';

/** Something that the router is asked to do: whether it is under way, and its outcome in words. */
export class Command {
  busy = $state(false);
  failed = $state(false);
  outcome = $state('');

  constructor(
    private readonly live: Pick<Live, 'report'>,
    /** What a fault means here. */
    private readonly wordsFor: (fault: Fault) => string,
  ) {}

  /** `work` answers the outcome; until then it is `words`. */
  async run(words: string, work: () => Promise<string>): Promise<void> {
    this.busy = true;
    this.failed = false;
    this.outcome = words;
    try {
      this.outcome = await work();
    } catch (fault) {
      this.live.report(fault);
      if (!(fault instanceof Fault)) throw fault;
      this.failed = true;
      this.outcome = this.wordsFor(fault);
    } finally {
      this.busy = false;
    }
  }
}
