// SPDX-License-Identifier: GPL-2.0-or-later
import type { Ips, IpsRule } from '../../api/types';
import { bareName, listOf, textOf, type Section } from '../../uci/sections';
import { canonical } from './network';
import { defaults, isOn, OWN, placeOf } from './options';

function text(section: Section | undefined, option: keyof typeof defaults.ips): string {
  return textOf(section, option, defaults.ips[option]);
}

/** A policy as the daemon tells it, for comparing. */
function told(rule: IpsRule): string {
  const { name, enabled, src, dest, src_vlan, dest_vlan, action } = rule;
  return JSON.stringify([name, enabled, src, dest, src_vlan, dest_vlan, action]);
}

function asked(section: Section): string {
  const zones = [placeOf(section, 'src'), placeOf(section, 'dest')];
  const vlans = [placeOf(section, 'src_vlan'), placeOf(section, 'dest_vlan')].map(Number);
  const action = textOf(section, 'action', defaults.policy.action);
  const [name, enabled] = [textOf(section, 'name'), isOn('policy', section)];
  return JSON.stringify([name, enabled, ...zones, ...vlans, action]);
}

/**
 * Whether the daemon works by these sections, as far as `ips` tells it: a configuration is taken
 * as a whole or not at all, so what is seen speaks for what is not.
 */
export function agrees(wanted: readonly Section[], base: readonly Section[], ips: Ips): boolean {
  const main = wanted.find((section) => section.type === 'ips');
  const policies = wanted.filter((section) => section.type === 'policy');
  // The daemon keeps one of several spellings of a network.
  const exempt = new Set(listOf(main, 'exempt').map(canonical));
  const settings =
    ips.enabled === isOn('ips', main) &&
    ips.mode === text(main, 'mode') &&
    ips.fail === text(main, 'fail') &&
    ips.block === isOn('ips', main, 'block') &&
    ips.policy.default === text(main, 'default') &&
    ips.policy.budget_bytes === Number(text(main, 'budget_bytes')) &&
    ips.policy.budget_packets === Number(text(main, 'budget_packets')) &&
    ips.policy.exempt.length === exempt.size;
  const same =
    JSON.stringify(ips.policy.policies.map(told)) === JSON.stringify(policies.map(asked));
  return settings && same && agreesOnSources(wanted, base, ips);
}

function agreesOnSources(wanted: readonly Section[], base: readonly Section[], ips: Ips): boolean {
  const known = new Map(ips.rules.sources.map((source) => [source.name, source.enabled]));
  const sources = wanted.filter((section) => section.type === 'rules' && section.name !== OWN);
  const names = new Set(sources.map(bareName));
  const gone = base.filter((section) => section.type === 'rules' && !names.has(section.name));
  return (
    sources.every((section) => known.get(bareName(section)) === isOn('rules', section)) &&
    gone.every((section) => !known.has(section.name))
  );
}
