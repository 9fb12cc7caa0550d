// SPDX-License-Identifier: GPL-2.0-or-later
/** Types of the doctor's report, order of severities and groups, the verdict. */

import type { IpsSource } from '../api/types';
import type { Kind } from '../cause/cause';
import type { Edit } from '../form/sections';
import type { Params as Values } from '../i18n/t';

/** The worst first; `unknown`: the check could not run. */
export const severities = ['error', 'warning', 'advice', 'unknown', 'info', 'ok'] as const;
export type Severity = (typeof severities)[number];

/** Parameters of a text. */
export type Params = Readonly<Record<string, unknown>>;

/** A value that was read, and where. */
export interface Evidence {
  /** Of the fact, stable in its group. */
  code: string;
  params: Params;
  /** The fact in English. */
  what: string;
  value: string;
  source: string;
  /** The reason whose text is `value`; an older router sends none. */
  cause?: Cause | null;
}

/** A reason of the daemon. */
export interface Cause {
  kind: Kind;
  code: string;
  params: Values;
  /** With `rules`: what the router says of each source. */
  sources?: readonly Pick<IpsSource, 'name' | 'message' | 'cause'>[];
}

/** The router's own remedy for a finding. */
export interface Fix {
  /** A `change` of the configuration can be undone, a `step` takes effect at once. */
  kind: 'change' | 'step';
  label: string;
  edits?: readonly Edit[];
}

/** The result of one check of the doctor; its texts are in English. */
export interface Finding {
  /** Stable, such as `flowtable-missing`. */
  id: string;
  group: string;
  /** Names the texts: the id, or `id/CASE`. */
  code: string;
  params: Params;
  severity: Severity;
  title: string;
  /** Its objects, as a section `accepted` names them. */
  about: readonly string[];
  /** Sections `accepted` that cover it; none: it is not accepted. */
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

/** How the largest packet that a host answers is bounded, and by whom. */
export interface Way {
  target: string;
  /** Bytes. */
  mtu: number;
  /** Not limited, by our own device, by a router that reports it, by one that does not. */
  limit: 'none' | 'device' | 'reported' | 'silent';
}

/** Findings about one part of the router, the worst first. */
export interface Group {
  name: string;
  findings: Finding[];
}

/** How it is rated. */
export type Rated = Pick<Finding, 'severity' | 'accepted'>;

export const rank = ({ severity }: Pick<Finding, 'severity'>): number =>
  severities.indexOf(severity);

/** Whether an administrator has accepted it. */
export const isAccepted = ({ accepted }: Rated): boolean => accepted.length > 0;

/** Findings other than `ok` and accepted ones, by group; the group with the worst finding first. */
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

/** How many there are of a severity; accepted ones do not count. */
export function countOf(of: readonly Rated[], severity: Severity): number {
  return of.filter((each) => each.severity === severity && !isAccepted(each)).length;
}

/** The worst severity among those that ask for something; `ok` without any. */
export function verdictOf(of: readonly Rated[]): Severity {
  const asked = ['error', 'warning', 'advice'] as const;
  return asked.find((each) => countOf(of, each) > 0) ?? 'ok';
}

/** Findings about accounts, which the configuration must not show to viewers. */
const hidden = ['system-password', 'system-sessions'];

/** Whether a finding asks for something, and may be accepted. */
export const isAcceptable = ({ id, severity }: Finding) =>
  ['error', 'warning', 'advice'].includes(severity) && !hidden.includes(id);

/** The edit that accepts a finding as it is: not worse, and about nothing else. */
export function acceptanceOf({ code, severity, about }: Finding): Edit[] {
  const values = { check: code, severity, ...(about.length > 0 && { about: [...about] }) };
  return [{ config: 'fastpath', op: 'add', type: 'accepted', id: 'accepted', values }];
}

/** The edits that do not accept it any longer. */
export function withdrawalOf({ accepted }: Finding): Edit[] {
  return accepted.map((section) => ({ config: 'fastpath', op: 'delete', section }));
}
