// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { setLanguage } from '../i18n/t';
import german from './de.json';
import english from './en.json';
import { localized } from './messages';

interface Types {
  $defs: Record<string, { properties: Record<string, { enum?: string[] }> }>;
}
const schema = new URL('../../../../feeds/fastpathd/src/schema/', import.meta.url);
const codes = (file: string, type: string) => {
  const { $defs } = JSON.parse(readFileSync(new URL(file, schema), 'utf8')) as Types;
  return $defs[type]?.properties['code']?.enum ?? [];
};
const configuration = codes('types.json', 'ConfigurationProblem');
const change = codes('change/types.json', 'Problem');
/** Code of another version of the daemon. */
const foreign = ['fastpathd'];

describe('problems of a configuration', () => {
  afterEach(() => setLanguage('en'));

  it.each(Object.entries({ english, german }))('have a message in %s', (_, catalogue) => {
    expect(configuration.length).toBeGreaterThan(50);
    for (const code of [...configuration, ...change].filter((each) => !foreign.includes(each)))
      expect(catalogue, code).toHaveProperty([`problem.${code}`]);
  });

  it('of the daemon can also be problems of a change', () => {
    expect(configuration.filter((code) => !change.includes(code))).toEqual([]);
  });

  it('are in the language of the page', async () => {
    const params = { value: 'warp', names: 'off, flowtable' };
    const said = { code: 'not-listed', text: 'is not one of off, flowtable', params };
    expect(localized('problem', said)).toBe('“warp” is not one of: off, flowtable.');
    await setLanguage('de');
    expect(localized('problem', said)).toBe('„warp“ ist keiner der Werte off, flowtable.');
    expect(localized('problem', { ...said, code: 'newer' })).toBe(said.text);
  });
});
