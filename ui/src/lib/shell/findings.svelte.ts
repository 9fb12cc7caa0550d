// SPDX-License-Identifier: GPL-2.0-or-later
/** The findings of the doctor's last run, for parts of the page other than its screen. */

/** A finding as its screen shows it. */
export interface KnownFinding {
  id: string;
  severity: string;
  title: string;
}

let last = $state.raw<{ session: string; findings: readonly KnownFinding[] } | null>(null);

/** Keeps the findings of a run. */
export function keepFindings(session: string, findings: readonly KnownFinding[]): void {
  last = { session, findings };
}

/** Findings that are not good; none of another session. */
export function findingsOf(session: string): readonly KnownFinding[] {
  if (last?.session !== session) return [];
  return last.findings.filter(({ severity }) => severity !== 'ok');
}
