// SPDX-License-Identifier: GPL-2.0-or-later
/** Conditions and findings for the page's header, which `Watch.svelte` keeps current. */

import { countOf, verdictOf, type Severity } from './report';
import type { Entry } from './verdict';

export class HealthList {
  /** Conditions and findings, worst first. */
  entries = $state.raw<readonly Entry[]>([]);

  /** The doctor's report has been read; before that, nothing counts as good. */
  known = $state(false);

  /** The worst severity that needs action. */
  get worst(): Severity {
    return verdictOf(this.entries);
  }

  /** Number of errors and warnings that nobody has accepted. */
  get urgent(): number {
    return countOf(this.entries, 'error') + countOf(this.entries, 'warning');
  }
}
