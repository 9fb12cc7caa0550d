// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import { lacksPassword } from './password';

const router = (facts: [string, string][]) => ({
  request: () =>
    Promise.resolve({
      findings: [{ evidence: facts.map(([code, of]) => ({ code, params: { of } })) }],
    }),
});

it.each<[string, [string, string][], boolean]>([
  ['has one', [], false],
  ['has none', [['empty', 'root']], true],
  ['has a common one', [['common', 'root']], false],
  ['has one, and another account none', [['empty', 'guest']], false],
])('reports whether root lacks a password: %s', async (_, facts, lacks) => {
  expect(await lacksPassword(router(facts), 'root')).toBe(lacks);
});

it('does not interpret a refusal as a password', async () => {
  const refused = { error: { code: 'bus', text: 'rpcd does not answer' } };
  const api = { request: () => Promise.resolve(refused) };
  await expect(lacksPassword(api, 'root')).rejects.toThrow('rpcd does not answer');
});
