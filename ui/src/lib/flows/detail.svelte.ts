// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { FlowDetail } from '../api/types';

/** Polls one flow; keeps its last state after the flow has ended. */
export class FollowedFlow {
  detail = $state.raw<FlowDetail | null>(null);
  gone = $state(false);
  trouble = $state('');

  constructor(
    private readonly api: Fastpath,
    private readonly id: number,
  ) {}

  async ask(signal: AbortSignal): Promise<void> {
    if (this.gone) return;
    try {
      this.detail = await this.api.call('flow', { id: this.id }, signal);
      this.trouble = '';
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      if (fault.kind === 'gone') this.gone = true;
      else if (fault.kind === 'failed') this.trouble = fault.message;
      else throw fault;
    }
  }
}
