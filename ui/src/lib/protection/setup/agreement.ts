// SPDX-License-Identifier: GPL-2.0-or-later
import type { Ips, IpsRule } from '../../api/types';
import type { Section } from '../../uci/sections';
import { defaults, OWN } from './options';

function text(section: Section | undefined, option: keyof typeof defaults.ips): string {
  const value = section?.options[option];
  return typeof value === 'string' && value !== '' ? value : String(defaults.ips[option]);
}

function entries(section: Section | undefined, option: string): number {
  const value = section?.options[option] ?? [];
  return typeof value === 'string' ? value.split(/\s+/).filter(Boolean).length : value.length;
}

/** A policy as the daemon tells it, for comparing. */
function told(rule: IpsRule): string {
  const { name, enabled, src, dest, src_vlan, dest_vlan, action } = rule;
  return JSON.stringify([name, enabled, src, dest, src_vlan, dest_vlan, action]);
}

function asked(section: Section): string {
  const option = (name: string) => {
    const value = section.options[name];
    return typeof value === 'string' ? value : '';
  };
  const zone = (name: string) => (option(name) === '*' ? '' : option(name));
  const enabled = option('enabled') !== '0';
  const vlans = [Number(option('src_vlan')), Number(option('dest_vlan'))];
  const action = option('action') || 'inspect';
  return JSON.stringify([option('name'), enabled, zone('src'), zone('dest'), ...vlans, action]);
}

/**
 * Whether the daemon works by these sections, as far as `ips` tells it: a configuration is taken
 * as a whole or not at all, so what is seen speaks for what is not.
 */
export function agrees(wanted: readonly Section[], base: readonly Section[], ips: Ips): boolean {
  const main = wanted.find((section) => section.type === 'ips');
  const policies = wanted.filter((section) => section.type === 'policy');
  const settings =
    ips.enabled === (text(main, 'enabled') === '1') &&
    ips.mode === text(main, 'mode') &&
    ips.fail === text(main, 'fail') &&
    ips.block === (text(main, 'block') === '1') &&
    ips.policy.default === text(main, 'default') &&
    ips.policy.budget_bytes === Number(text(main, 'budget_bytes')) &&
    ips.policy.budget_packets === Number(text(main, 'budget_packets')) &&
    ips.policy.exempt.length === entries(main, 'exempt');
  const same =
    JSON.stringify(ips.policy.policies.map(told)) === JSON.stringify(policies.map(asked));
  return settings && same && agreesOnSources(wanted, base, ips);
}

function agreesOnSources(wanted: readonly Section[], base: readonly Section[], ips: Ips): boolean {
  const known = new Map(ips.rules.sources.map((source) => [source.name, source.enabled]));
  const sources = wanted.filter((section) => section.type === 'rules' && section.name !== OWN);
  const names = new Set(sources.map((section) => section.name.replace(/^\+/, '')));
  const gone = base.filter((section) => section.type === 'rules' && !names.has(section.name));
  return (
    sources.every((section) => {
      const enabled = known.get(section.name.replace(/^\+/, ''));
      return enabled === (section.options['enabled'] !== '0');
    }) && gone.every((section) => !known.has(section.name))
  );
}
