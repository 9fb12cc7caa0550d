// SPDX-License-Identifier: GPL-2.0-or-later
/** What is wrong, for the head of the page: how many errors and warnings. `Watch.svelte` keeps it
 * current. */

import { countOf } from './report';
import type { Entry } from './verdict';

export class HealthList {
  /** Conditions and findings, the worst first. */
  entries = $state.raw<readonly Entry[]>([]);

  /** Errors and warnings that nobody has accepted. */
  get urgent(): number {
    return countOf(this.entries, 'error') + countOf(this.entries, 'warning');
  }
}
