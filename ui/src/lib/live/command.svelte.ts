// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from '../api/errors';
import type { Live } from './live.svelte';

export class Command {
  busy = $state(false);
  failed = $state(false);
  outcome = $state('');

  constructor(
    private readonly live: Pick<Live, 'report'>,
    private readonly messageFor: (fault: Fault) => string,
  ) {}

  /** Shows `progress` until `work` returns the outcome. */
  async run(progress: string, work: () => Promise<string>): Promise<void> {
    this.busy = true;
    this.failed = false;
    this.outcome = progress;
    try {
      this.outcome = await work();
    } catch (fault) {
      this.live.report(fault);
      if (!(fault instanceof Fault)) throw fault;
      this.failed = true;
      this.outcome = this.messageFor(fault);
    } finally {
      this.busy = false;
    }
  }
}
