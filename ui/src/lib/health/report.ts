// SPDX-License-Identifier: GPL-2.0-or-later

import type { IpsSource } from '../api/types';
import type { Kind } from '../cause/cause';
import type { Edit } from '../form/sections';
import type { Params as Values } from '../i18n/t';

/** Worst first. `unknown`: the check could not run. */
export const severities = ['error', 'warning', 'advice', 'unknown', 'info', 'ok'] as const;
export type Severity = (typeof severities)[number];

export type Params = Readonly<Record<string, unknown>>;

export interface Evidence {
  /** Code of the fact, unique in its group. */
  code: string;
  params: Params;
  what: string;
  value: string;
  source: string;
  /** Code of the reason in `value`; older routers send none. */
  cause?: Cause | null;
}

export interface Cause {
  kind: Kind;
  code: string;
  params: Values;
  /** For `rules`: the router's message on each source. */
  sources?: readonly Pick<IpsSource, 'name' | 'message' | 'cause'>[];
}

export interface Fix {
  /** `change`: edits of the configuration, which can be undone; `step`: takes effect at once. */
  kind: 'change' | 'step';
  label: string;
  edits?: readonly Edit[];
}

export interface Finding {
  /** Id of the check, such as `flowtable-missing`. */
  id: string;
  group: string;
  /** Key of the texts: the id, or `id/CASE`. */
  code: string;
  params: Params;
  severity: Severity;
  title: string;
  /** Objects of the finding, as stored in a section `accepted`. */
  about: readonly string[];
  /** Sections `accepted` that cover the finding; empty if it is not accepted. */
  accepted: readonly string[];
  evidence: readonly Evidence[];
  consequence: string;
  remedy: string;
  gain: { text: string; source: string } | null;
  fix: Fix | null;
}

export interface Report {
  at_ms: number;
  took_ms: number;
  findings: readonly Finding[];
}

export interface PathMtu {
  target: string;
  /** In bytes. */
  mtu: number;
  /**
   * `device`: limited by our egress device; `reported`: by a router that sends ICMP errors;
   * `silent`: by one that does not.
   */
  limit: 'none' | 'device' | 'reported' | 'silent';
}

export interface Group {
  name: string;
  findings: Finding[];
}

export type Rated = Pick<Finding, 'severity' | 'accepted'>;

export const rank = ({ severity }: Pick<Finding, 'severity'>): number =>
  severities.indexOf(severity);

export const isAccepted = ({ accepted }: Rated): boolean => accepted.length > 0;

/** Groups findings without `ok` and accepted ones. The group with the worst finding comes first. */
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

/** Returns the worst severity that needs action; `ok` if no action is needed. */
export function verdictOf(of: readonly Rated[]): Severity {
  const asked = ['error', 'warning', 'advice'] as const;
  return asked.find((each) => countOf(of, each) > 0) ?? 'ok';
}

/** Findings about accounts, which the configuration must not reveal to viewers. */
const hidden = ['system-password', 'system-sessions'];

export const isAcceptable = ({ id, severity }: Finding) =>
  ['error', 'warning', 'advice'].includes(severity) && !hidden.includes(id);

/** Returns the edit that accepts a finding, only at this severity and for these objects. */
export function acceptanceOf({ code, severity, about }: Finding): Edit[] {
  const values = { check: code, severity, ...(about.length > 0 && { about: [...about] }) };
  return [{ config: 'fastpath', op: 'add', type: 'accepted', id: 'accepted', values }];
}

export function withdrawalOf({ accepted }: Finding): Edit[] {
  return accepted.map((section) => ({ config: 'fastpath', op: 'delete', section }));
}
