// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import type { Section } from '../../form/sections';
import { hiddenBy } from './shadow';
import { isSourceName } from './source-name';

const section = (type: string, values: Section['values'], name = type): Section => ({
  section: name,
  type,
  anonymous: type === 'policy',
  values,
});

it('accepts only names that uci can store', () => {
  expect(['et_open', 'et open', 'fastpath x', 'fastpath', ''].map(isSourceName)).toEqual([
    ...[true, false, false, false, false],
  ]);
});

it('reports unreachable policies and the policy that hides each', () => {
  const any = section('policy', {}, 'any');
  const iot = section('policy', { src: 'iot' }, 'iot');
  const wan = section('policy', { src: 'iot', dest: 'wan' }, 'wan');
  const off = section('policy', { enabled: 'off' }, 'off');
  expect(hiddenBy([iot, wan, any])).toEqual([0, 1, 0]);
  expect(hiddenBy([wan, iot, any])).toEqual([0, 0, 0]);
  expect(hiddenBy([off, any, iot])).toEqual([0, 0, 2]);
  expect(hiddenBy([section('policy', { src: '*' }, 'star'), off])).toEqual([0, 0]);
});
