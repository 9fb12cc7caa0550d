// SPDX-License-Identifier: GPL-2.0-or-later
/** A repeated request, with its last answer and the error message of a later failure. */

import { Fault, type FaultKind } from '../api/errors';

export class Question<T> {
  answer = $state.raw<T | null>(null);
  /** Error message of the last attempt; empty after an answer. */
  trouble = $state('');

  constructor(
    private readonly read: (signal?: AbortSignal) => Promise<T>,
    /** Kinds of faults shown in place of the answer; the banner shows the others. */
    private readonly shown: readonly FaultKind[] = ['failed'],
  ) {}

  /** Requests a new answer. @throws {Fault} if that fails */
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
