// SPDX-License-Identifier: GPL-2.0-or-later
/** The last answer to a repeated question, and the refusal that came instead of the next one. */

import { Fault, type FaultKind } from '../api/errors';

/** A question to the router; its last answer stays while later ones are refused. */
export class Question<T> {
  answer = $state.raw<T | null>(null);
  /** Why the last attempt was refused; empty after an answer. */
  trouble = $state('');

  constructor(
    private readonly read: (signal?: AbortSignal) => Promise<T>,
    /** Faults that are shown where the answer would be; the banner has the others. */
    private readonly shown: readonly FaultKind[] = ['failed'],
  ) {}

  /** Asks for a new answer. @throws {Fault} without one */
  readonly ask = async (signal?: AbortSignal): Promise<void> => {
    try {
      this.answer = await this.read(signal);
      this.trouble = '';
    } catch (fault) {
      if (fault instanceof Fault && this.shown.includes(fault.kind)) this.trouble = fault.message;
      throw fault;
    }
  };
}
