// SPDX-License-Identifier: GPL-2.0-or-later
/** The doctor's report: types, order of severities and groups, verdict, acceptance. */

import type { IpsSource } from '../api/types';
import type { Kind } from '../cause/cause';
import type { Edit } from '../form/sections';
import type { Params as Values } from '../i18n/t';

/** Worst first; `unknown`: the check could not run. */
export const severities = ['error', 'warning', 'advice', 'unknown', 'info', 'ok'] as const;
export type Severity = (typeof severities)[number];

export type Params = Readonly<Record<string, unknown>>;

/** A value that a check has read, and its source. */
export interface Evidence {
  /** Code of the fact, stable in its group. */
  code: string;
  params: Params;
  /** The fact in English. */
  what: string;
  value: string;
  source: string;
  /** The reason that `value` spells out; older routers send none. */
  cause?: Cause | null;
}

/** A reason of the daemon. */
export interface Cause {
  kind: Kind;
  code: string;
  params: Values;
  /** For `rules`: the router's message about each source. */
  sources?: readonly Pick<IpsSource, 'name' | 'message' | 'cause'>[];
}

/** The router's own remedy for a finding. */
export interface Fix {
  /** A `change` edits the configuration and can be undone; a `step` takes effect at once. */
  kind: 'change' | 'step';
  label: string;
  edits?: readonly Edit[];
}

/** The result of a check of the doctor, with English texts. */
export interface Finding {
  /** Stable id, such as `flowtable-missing`. */
  id: string;
  group: string;
  /** Key of the texts: the id, or `id/CASE`. */
  code: string;
  params: Params;
  severity: Severity;
  title: string;
  /** Objects of the finding, as a section `accepted` names them. */
  about: readonly string[];
  /** Sections `accepted` that cover the finding; empty if it is not accepted. */
  accepted: readonly string[];
  evidence: readonly Evidence[];
  consequence: string;
  remedy: string;
  gain: { text: string; source: string } | null;
  fix: Fix | null;
}

/** The answer of `fastpath.doctor run`. */
export interface Report {
  at_ms: number;
  took_ms: number;
  findings: readonly Finding[];
}

/** The largest packet that a host answers, and what limits it. */
export interface Way {
  target: string;
  /** In bytes. */
  mtu: number;
  /** Limited by nothing, by our device, by a router that reports it, or by one that does not. */
  limit: 'none' | 'device' | 'reported' | 'silent';
}

/** Findings about one part of the router, worst first. */
export interface Group {
  name: string;
  findings: Finding[];
}

export type Rated = Pick<Finding, 'severity' | 'accepted'>;

export const rank = ({ severity }: Pick<Finding, 'severity'>): number =>
  severities.indexOf(severity);

/** Reports whether an administrator has accepted the finding. */
export const isAccepted = ({ accepted }: Rated): boolean => accepted.length > 0;

/** Groups findings without `ok` and accepted ones; the group with the worst comes first. */
export function groupsOf(findings: readonly Finding[]): Group[] {
  const groups = new Map<string, Finding[]>();
  for (const finding of findings.filter((each) => each.severity !== 'ok' && !isAccepted(each))) {
    const mine = groups.get(finding.group) ?? [];
    groups.set(finding.group, [...mine, finding]);
  }
  const sorted = [...groups].map(([name, mine]) => ({
    name,
    findings: mine.sort((a, b) => rank(a) - rank(b)),
  }));
  const worst = (group: Group) => Math.min(...group.findings.map(rank));
  return sorted.sort((a, b) => worst(a) - worst(b));
}

/** Returns the number of findings of a severity, without accepted ones. */
export function countOf(of: readonly Rated[], severity: Severity): number {
  return of.filter((each) => each.severity === severity && !isAccepted(each)).length;
}

/** Returns the worst severity that needs action; `ok` if there is none. */
export function verdictOf(of: readonly Rated[]): Severity {
  const asked = ['error', 'warning', 'advice'] as const;
  return asked.find((each) => countOf(of, each) > 0) ?? 'ok';
}

/** Findings about accounts, which the configuration must not reveal to viewers. */
const hidden = ['system-password', 'system-sessions'];

/** Reports whether a finding needs action and may be accepted. */
export const isAcceptable = ({ id, severity }: Finding) =>
  ['error', 'warning', 'advice'].includes(severity) && !hidden.includes(id);

/** Returns the edit that accepts a finding at this severity and for these objects only. */
export function acceptanceOf({ code, severity, about }: Finding): Edit[] {
  const values = { check: code, severity, ...(about.length > 0 && { about: [...about] }) };
  return [{ config: 'fastpath', op: 'add', type: 'accepted', id: 'accepted', values }];
}

/** Returns the edits that withdraw the acceptance. */
export function withdrawalOf({ accepted }: Finding): Edit[] {
  return accepted.map((section) => ({ config: 'fastpath', op: 'delete', section }));
}
