// SPDX-License-Identifier: GPL-2.0-or-later
/** One list of everything that is wrong: the daemon's conditions of this moment and the doctor's
 * last findings; which of both counts where both know a fact. */

import type { Level, Status } from '../api/types';
import { inLanguage } from './findings/text';
import { textOf } from './live';
import { rank, type Finding, type Severity } from './report';

/** A condition or a finding, with its text in the language of the page. */
export type Entry = Pick<Finding, 'id' | 'severity' | 'title' | 'accepted'>;

/** The parts of the daemon's answer that are about conditions. */
export type Conditions = Pick<Status, 'health' | 'problems' | 'engine' | 'doctor'>;

const severityOf: Record<Level, Severity> = {
  ok: 'ok',
  notice: 'info',
  warning: 'warning',
  error: 'error',
};

const isBad = ({ severity }: Pick<Finding, 'severity'>) =>
  ['error', 'warning', 'advice', 'info'].includes(severity);

/** The findings without those that the daemon says have ended. */
export function stillFound(
  findings: readonly Finding[],
  status: Conditions | null,
): readonly Finding[] {
  const ended = status?.doctor.last?.ended ?? [];
  return findings.filter((each) => !isBad(each) || !ended.includes(each.id));
}

/** The daemon's conditions. One that is a finding, too, is accepted with it. */
function conditions(findings: readonly Finding[], status: Conditions): Entry[] {
  const found = new Map(findings.filter(isBad).map((each) => [each.id, each]));
  return status.health.map((condition) => ({
    id: condition.code,
    severity: severityOf[condition.level],
    title: textOf(condition, status),
    accepted: found.get(condition.code)?.accepted ?? [],
  }));
}

/** Conditions that are not among the findings, which have more to say. */
export function furtherConditions(
  findings: readonly Finding[],
  status: Conditions | null,
): Entry[] {
  const found = new Set(findings.filter(isBad).map(({ id }) => id));
  return status ? conditions(findings, status).filter(({ id }) => !found.has(id)) : [];
}

/** Everything that is wrong, the worst first; a fact that both know as it is now. */
export function entriesOf(findings: readonly Finding[], status: Conditions | null): Entry[] {
  const now = status ? conditions(findings, status) : [];
  const reported = new Set(now.map(({ id }) => id));
  const further = stillFound(findings, status).filter(isBad);
  const others = further.filter(({ id }) => !reported.has(id)).map(inLanguage);
  return [...now, ...others].sort((a, b) => rank(a) - rank(b));
}
