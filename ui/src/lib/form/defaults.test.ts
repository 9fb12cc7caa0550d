// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { defaults } from './defaults';

const FILE = new URL('../../../../feeds/fastpathd/files/fastpath.config', import.meta.url);

/** Returns the options of the installed file by section type, without comments. */
function installed(): Record<string, Record<string, string>> {
  const read: Record<string, Record<string, string>> = {};
  let type = '';
  for (const line of readFileSync(FILE, 'utf8').split('\n')) {
    const [, word, name = '', value = ''] =
      /^\s*(config|option) (\w+)(?: '(.*)')?$/.exec(line) ?? [];
    if (word === 'config') type = name;
    if (word === 'option') (read[type] ??= {})[name] = value;
  }
  return read;
}

const unseen = ['fastpath.mark_mask', 'fastpath.refresh'];
const absent = [
  ...['ips.budget_packets', 'policy.enabled', 'policy.action', 'rules.enabled', 'cpu.profile'],
  ...Object.keys(defaults.export).map((option) => `export.${option}`),
  ...Object.keys(defaults.notification).map((option) => `notification.${option}`),
];

it('defaults match the installed file', () => {
  const flat = (all: Record<string, Record<string, string>>) =>
    Object.entries(all).flatMap(([type, options]) =>
      Object.entries(options).map(([option, value]) => [`${type}.${option}`, value] as const),
    );
  const file = flat(installed()).filter(([option]) => !unseen.includes(option));
  const page = flat(defaults).filter(([option]) => !absent.includes(option));
  expect(file.length).toBeGreaterThan(10);
  expect(Object.fromEntries(page)).toEqual(Object.fromEntries(file));
});
