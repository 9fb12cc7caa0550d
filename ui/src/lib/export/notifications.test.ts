// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Fault } from '../api/errors';
import { maybe } from '../form/messages';
import { reasonOf, receivers, specs, TYPE } from './notifications';

const api = (answer: () => Record<string, unknown>) => ({
  request: () => Promise.resolve().then(answer),
});

describe('notifications', () => {
  it('has a message for every reason of the schema', () => {
    const file = '../feeds/fastpathd/src/schema/notify/status.json';
    const described = JSON.parse(readFileSync(file, 'utf8')) as {
      properties: {
        reply: { properties: { receivers: { items: { properties: { error: unknown } } } } };
      };
    };
    const { error } = described.properties.reply.properties.receivers.items.properties;
    const { description } = error as { description: string };
    const list = description.replace(/^[^:]*: /, '').replace(/\([^)]*\)/g, '');
    const words = (list.split(';')[0] ?? '').replaceAll('`', '').split(/\s*,\s*/);
    expect(words.length).toBeGreaterThan(12);
    for (const word of words) {
      const reason = word.trim().replace(' N', ' 42');
      expect(reasonOf(reason), reason).toMatch(/ .*\.$/);
      expect(reasonOf(reason).includes('42')).toBe(reason.endsWith('42'));
    }
    expect(reasonOf('other 1')).toBe('other 1');
  });

  it('has a label for each option', () => {
    for (const { option } of specs) expect(maybe(`${TYPE}.${option}`), option).not.toBe('');
  });

  it('distinguishes a missing package from a failure', async () => {
    expect(await receivers(api(() => ({ receivers: [] })))).toEqual([]);
    const fails = (kind: 'absent' | 'failed') => () => {
      throw new Fault(kind, 'x');
    };
    expect(await receivers(api(fails('absent')))).toBeNull();
    await expect(receivers(api(fails('failed')))).rejects.toThrow();
  });
});
