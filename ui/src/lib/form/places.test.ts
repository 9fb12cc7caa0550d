// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, expect, it } from 'vitest';
import { setLanguage } from '../i18n/t';
import { readHash } from '../shell/route.svelte';
import { spotOf } from './places';
import type { Section } from './sections';

afterEach(() => setLanguage('en'));

const problem = (config: string, section: string, option: string) => ({
  ...{ config, section, option, code: 'value', text: '' },
});
const section = (type: string, values: Section['values'], anonymous = true): Section => ({
  ...{ section: 'cfg12', type, anonymous, values },
});

it('names screen, section and option of a problem, with a link', async () => {
  const vlan = section('bridge-vlan', { vlan: '20' });
  const at = () => spotOf(problem('network', 'cfg12', 'ports'), vlan, readHash('#/firewall'));
  expect(at().href).toBe('#/network');
  expect(at().words).toMatch(/^Network › VLAN 20 · /);
  await setLanguage('de');
  expect(at().words).toMatch(/^Netz\S* › VLAN 20 · /);
});

it('has no link if the screen is in view', () => {
  const zone = section('zone', { name: 'guest' });
  const bad = problem('firewall', 'cfg12', '');
  expect(spotOf(bad, zone, readHash('#/firewall'))).toEqual({ words: 'Zone guest', href: '' });
});

it('links the part of a screen', () => {
  const policy = section('policy', { name: 'cameras' });
  const bad = problem('fastpath', 'cfg12', 'action');
  expect(spotOf(bad, policy, readHash('#/protection?part=policy')).href).toBe('');
  expect(spotOf(bad, policy, readHash('#/protection?part=rules')).href).toBe(
    '#/protection?part=policy',
  );
});

it('links the screen of an option that is not on the screen of its section', () => {
  const main = { ...section('fastpath', {}, false), section: 'main' };
  const at = (option: string) =>
    spotOf(problem('fastpath', 'main', option), main, readHash('#/wan')).href;
  expect([at('metrics_hosts'), at('engine')]).toEqual(['#/export', '#/fastpath']);
});

it('names an option without a screen by its file', () => {
  expect(spotOf(problem('ucitrack', 'x', 'y'), undefined, readHash('#/wan'))).toEqual({
    words: 'File ucitrack · x · y',
    href: '',
  });
});
