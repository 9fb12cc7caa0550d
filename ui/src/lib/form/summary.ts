// SPDX-License-Identifier: GPL-2.0-or-later

import type { Line } from './change.svelte';
import { f, maybe } from './messages';
import type { Value } from './sections';

/** The changes of one section, or the order of a file. */
export interface SectionChange {
  kind: 'add' | 'remove' | 'rename' | 'order' | 'set';
  /** Section and kind of change: "Zone guest: added". */
  title: string;
  values: { name: string; text: string }[];
  /** Number of options that have no field on the page. */
  further: number;
}

/** Boolean options that have no field on the page. */
const switches = new Set(['auto', 'disabled', 'enabled', 'ignore', 'isolate', 'masq', 'mtu_fix']);

const kindOf = (line: Line): SectionChange['kind'] =>
  line.what ?? (line.option === null ? 'add' : 'set');

/** Groups a diff by section, in the order of the diff. */
export function changesOf(lines: readonly Line[]): SectionChange[] {
  const groups = new Map<string, Line[]>();
  for (const line of lines) {
    const key = [line.config, line.type, line.section, line.label].join('\n');
    groups.set(key, [...(groups.get(key) ?? []), line]);
  }
  return [...groups.values()].map(changeOf);
}

export function summaryOf(lines: readonly Line[]): string {
  const all = changesOf(lines).map(({ title }) => title);
  const more = all.length - SHOWN;
  const shown = all.slice(0, more > 1 ? SHOWN : all.length).join(' · ');
  return more > 1 ? f('diff.more', { text: shown, n: more }) : shown;
}
const SHOWN = 2;

function changeOf(lines: readonly Line[]): SectionChange {
  const [head, ...rest] = lines as [Line, ...Line[]];
  const kind = kindOf(head);
  const options = kind === 'set' ? lines : kind === 'remove' ? [] : rest;
  const values = options.map((each) => valueOf(each, kind === 'add'));
  const worded = values.filter(({ name }) => name !== '');
  return {
    kind,
    title: f(`diff.${kind}`, { what: named(lines), to: shown(head, head.to) }),
    values: worded,
    further: values.length - worded.length,
  };
}

/** Returns the type of a section as a noun, and its name; a forwarding is named by its zones. */
function named(lines: readonly Line[]): string {
  const [{ config, type, section, label }] = lines as [Line, ...Line[]];
  if (type === null || type === undefined) return f('diff.file', { config });
  const of = label || section || '';
  // A position such as @rule[2] says less than the option `name` in the diff.
  const name = zonesOf(lines) || (of.startsWith('@') || of === type ? '' : of);
  const noun = maybe(`type.${config}.${type}`) || maybe(`type.${type}`);
  return noun ? [noun, name].filter(Boolean).join(' ') : `${config}.${type} ${of}`.trim();
}

/** Returns "lan → wan" if the diff has both zones of a forwarding. */
function zonesOf(lines: readonly Line[]): string {
  const value = (option: string) => {
    const line = lines.find((each) => each.type === 'forwarding' && each.option === option);
    return line ? shown(line, line.to ?? line.from) : '';
  };
  const [src, dest] = [value('src'), value('dest')];
  return src && dest ? f('diff.value', { from: src, to: dest }) : '';
}

function valueOf(line: Line, fresh: boolean): { name: string; text: string } {
  const field = `${line.type}.${line.option}`;
  const name = maybe(`${line.config}.${field}`) || maybe(field);
  if (field === 'bridge-vlan.ports') return { name, text: portsOf(line, fresh) };
  const to = shown(line, line.to);
  return { name, text: fresh ? to : f('diff.value', { from: shown(line, line.from), to }) };
}

/** Parses netifd's notation of ports into memberships. */
function membersOf(value: Value | null): Map<string, string> {
  const entries = typeof value === 'string' ? value.split(/\s+/) : (value ?? []);
  const words = (flags = '') => f(flags.includes('t') ? 'member.t' : 'member.u');
  return new Map(
    entries.filter(Boolean).map((each) => {
      const [port = '', flags] = each.split(':', 2);
      return [port, words(flags)];
    }),
  );
}

/** Lists the ports whose membership changes: "lan3: untagged → not a member". */
function portsOf({ from, to }: Line, fresh: boolean): string {
  const [before, after] = [membersOf(from), membersOf(to)];
  const word = (of: Map<string, string>, port: string) => of.get(port) ?? f('member.none');
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((port) => before.get(port) !== after.get(port))
    .map((port) => {
      const now = word(after, port);
      const text = fresh ? now : f('diff.value', { from: word(before, port), to: now });
      return `${port}: ${text}`;
    })
    .join(', ');
}

/** Describes each new VLAN in one line: number, network, address, DHCP and ports. */
export function intentsOf(lines: readonly Line[]): string[] {
  const value = (type: string, section: string | null, option: string) =>
    lines.find((each) => each.type === type && each.section === section && each.option === option)
      ?.to ?? null;
  const text = (of: Value | null) => [of ?? []].flat().join(', ');
  const added = (type: string) =>
    lines
      .filter((each) => each.type === type && kindOf(each) === 'add')
      .map((each) => each.section);
  return added('bridge-vlan').map((section) => {
    const get = (option: string) => value('bridge-vlan', section, option);
    const vid = text(get('vlan'));
    const own = added('interface').find(
      (each) => text(value('interface', each, 'device')) === `${text(get('device'))}.${vid}`,
    );
    const pool = added('dhcp').some((each) => text(value('dhcp', each, 'interface')) === own);
    const parts = [
      own ? text(value('interface', own, 'ipaddr')) : '',
      pool ? 'DHCP' : '',
      ...[...membersOf(get('ports'))].map(([port, member]) => `${port} ${member}`),
    ];
    const title = [f('intent.vlan', { vid }), own ?? ''].filter(Boolean).join(' ');
    return [title, ...parts.filter(Boolean)].join(', ');
  });
}

function shown({ type, option }: Line, value: Value | null): string {
  if (value === null) return f('line.none');
  if (Array.isArray(value)) return value.join(', ');
  const known = maybe(`${type}.${option}.${value}`);
  if (known) return known;
  if (!switches.has(option ?? '') || (value !== '0' && value !== '1')) return value;
  return f(value === '1' ? 'diff.on' : 'diff.off');
}
