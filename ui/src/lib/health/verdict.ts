// SPDX-License-Identifier: GPL-2.0-or-later

import type { Level, Status } from '../api/types';
import { inLanguage } from './findings/text';
import { textOf } from './live';
import { rank, type Finding, type Severity } from './report';

export type Entry = Pick<Finding, 'id' | 'severity' | 'title' | 'accepted'>;

export type Conditions = Pick<Status, 'health' | 'problems' | 'engine' | 'doctor'>;

const severityOf: Record<Level, Severity> = {
  ok: 'ok',
  notice: 'info',
  warning: 'warning',
  error: 'error',
};

const isBad = ({ severity }: Pick<Finding, 'severity'>) =>
  ['error', 'warning', 'advice', 'info'].includes(severity);

/** Returns the findings that the daemon does not report as ended. */
export function stillFound(
  findings: readonly Finding[],
  status: Conditions | null,
): readonly Finding[] {
  const ended = status?.doctor.last?.ended ?? [];
  return findings.filter((each) => !isBad(each) || !ended.includes(each.id));
}

/** Returns the daemon's conditions. An accepted finding also accepts its condition. */
function conditions(findings: readonly Finding[], status: Conditions): Entry[] {
  const found = new Map(findings.filter(isBad).map((each) => [each.id, each]));
  return status.health.map((condition) => ({
    id: condition.code,
    severity: severityOf[condition.level],
    title: textOf(condition, status),
    accepted: found.get(condition.code)?.accepted ?? [],
  }));
}

/** Returns the conditions without a finding, which would have more details. */
export function furtherConditions(
  findings: readonly Finding[],
  status: Conditions | null,
): Entry[] {
  const found = new Set(findings.filter(isBad).map(({ id }) => id));
  return status ? conditions(findings, status).filter(({ id }) => !found.has(id)) : [];
}

/** Returns conditions and findings, worst first. A condition replaces its finding. */
export function entriesOf(findings: readonly Finding[], status: Conditions | null): Entry[] {
  const now = status ? conditions(findings, status) : [];
  const reported = new Set(now.map(({ id }) => id));
  const further = stillFound(findings, status).filter(isBad);
  const others = further.filter(({ id }) => !reported.has(id)).map(inLanguage);
  return [...now, ...others].sort((a, b) => rank(a) - rank(b));
}
