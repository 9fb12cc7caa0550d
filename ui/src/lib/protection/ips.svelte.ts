// SPDX-License-Identifier: GPL-2.0-or-later
/** The answers of `ips` and `blocks`, and the release of a blocked address. */

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { Blocks, Ips } from '../api/types';

/** The daemon's report on the inspection, read periodically. */
export class IpsReport {
  ips = $state.raw<Ips | null>(null);
  trouble = $state('');

  constructor(private readonly api: Pick<Fastpath, 'call'>) {}

  async ask(signal: AbortSignal): Promise<void> {
    try {
      this.ips = await this.api.call('ips', {}, signal);
      this.trouble = '';
    } catch (fault) {
      if (fault instanceof Fault && ['failed', 'denied', 'gone'].includes(fault.kind)) {
        this.trouble = fault.message;
      }
      throw fault;
    }
  }
}

/** The addresses blocked now. */
export class BlockList {
  known = $state.raw<Blocks | null>(null);
  trouble = $state('');

  constructor(private readonly api: Pick<Fastpath, 'call'>) {}

  async ask(signal?: AbortSignal): Promise<void> {
    try {
      this.known = await this.api.call('blocks', {}, signal);
      this.trouble = '';
    } catch (fault) {
      if (fault instanceof Fault && ['failed', 'denied'].includes(fault.kind)) {
        this.trouble = fault.message;
      }
      throw fault;
    }
  }

  /** Ends a block; answers whether there was one to end. */
  async release(address: string): Promise<boolean> {
    let there = true;
    try {
      await this.api.call('block_release', { address });
    } catch (fault) {
      if (!(fault instanceof Fault) || fault.kind !== 'gone') throw fault;
      there = false;
    }
    if (this.known) {
      const blocks = this.known.blocks.filter((block) => block.address !== address);
      this.known = { ...this.known, blocks };
    }
    return there;
  }
}
