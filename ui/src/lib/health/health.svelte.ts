// SPDX-License-Identifier: GPL-2.0-or-later
/** Conditions and findings for the header, kept current by `Watch.svelte`. */

import { countOf, verdictOf, type Severity } from './report';
import type { Entry } from './verdict';

export class HealthList {
  entries = $state.raw<readonly Entry[]>([]);

  /** The doctor's report has been read; until then nothing is shown as healthy. */
  known = $state(false);

  get worst(): Severity {
    return verdictOf(this.entries);
  }

  /** Number of errors and warnings that are not accepted. */
  get urgent(): number {
    return countOf(this.entries, 'error') + countOf(this.entries, 'warning');
  }
}
