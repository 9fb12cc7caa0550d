// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import { hashOf, readHash } from './route.svelte';

it('reads screen and parameters, the overview otherwise', () => {
  expect(readHash('#/flows?path=slow').screen).toBe('flows');
  expect(readHash('#/flows?path=slow').params.get('path')).toBe('slow');
  expect(readHash('').screen).toBe('overview');
  expect(readHash('#/nonsense').screen).toBe('overview');
});

it('writes what it reads', () => {
  for (const hash of ['#/overview', '#/flows?text=a%26b', '#/topology']) {
    const { screen, params } = readHash(hash);
    expect(hashOf(screen, params)).toBe(hash);
  }
});
