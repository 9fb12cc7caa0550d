// SPDX-License-Identifier: GPL-2.0-or-later

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { Blocks, Ips } from '../api/types';
import { Question } from '../live/answer.svelte';

export const ipsReport = (api: Pick<Fastpath, 'call'>): Question<Ips> =>
  new Question((signal) => api.call('ips', {}, signal), ['failed', 'denied', 'gone']);

export class BlockList extends Question<Blocks> {
  constructor(private readonly api: Pick<Fastpath, 'call'>) {
    super((signal) => api.call('blocks', {}, signal), ['failed', 'denied']);
  }

  /** Ends a block; returns whether it existed. */
  async release(address: string): Promise<boolean> {
    let there = true;
    try {
      await this.api.call('block_release', { address });
    } catch (fault) {
      if (!(fault instanceof Fault) || fault.kind !== 'gone') throw fault;
      there = false;
    }
    if (this.answer) {
      const blocks = this.answer.blocks.filter((block) => block.address !== address);
      this.answer = { ...this.answer, blocks };
    }
    return there;
  }
}
