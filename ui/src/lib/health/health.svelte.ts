// SPDX-License-Identifier: GPL-2.0-or-later
/** Conditions and findings for the head of the page, and how many errors and warnings.
 * `Watch.svelte` keeps them current. */

import { countOf, verdictOf, type Severity } from './report';
import type { Entry } from './verdict';

export class HealthList {
  /** Conditions and findings, the worst first. */
  entries = $state.raw<readonly Entry[]>([]);

  /** Whether the doctor's report has been read: before that nothing is known to be good. */
  known = $state(false);

  /** The worst that asks for something. */
  get worst(): Severity {
    return verdictOf(this.entries);
  }

  /** Errors and warnings that nobody has accepted. */
  get urgent(): number {
    return countOf(this.entries, 'error') + countOf(this.entries, 'warning');
  }
}
