// SPDX-License-Identifier: GPL-2.0-or-later
import { render } from 'svelte/server';
import { describe, expect, it } from 'vitest';
import doctorTexts from '../../../../feeds/fastpathd/src/crates/doctor/texts/en.json';
import german from '../health/findings/de.json';
import Marked from './Marked.svelte';
import { marked } from './marked';

const body = (text: string) =>
  render(Marked, { props: { text } }).body.replaceAll(/<!--.*?-->/g, '');

describe('marked text', () => {
  it('shows commands as code and the rest as text', () => {
    expect(body('Run `uci commit`; see `/etc/config`.')).toBe(
      'Run <code>uci commit</code>; see <code>/etc/config</code>.',
    );
  });

  it('keeps an unmatched backtick, and HTML as text', () => {
    expect(marked('a ` b')).toEqual([{ text: 'a ` b', code: false }]);
    expect(marked('``')).toEqual([{ text: '``', code: false }]);
    expect(body('`<b>`')).toBe('<code>&lt;b></code>');
  });
});

const TYPED = new RegExp(
  [
    /\b(uci (set|delete|add_list)|fastpathctl \w|ethtool -|sysctl -w|nft delete)/,
    /\b(rmmod|apk fix|logread -e)|\/etc\//,
  ]
    .map(({ source }) => source)
    .join('|'),
);

describe('remedies', () => {
  const english = Object.values(doctorTexts).flatMap((group) =>
    Object.values(group as Record<string, { remedy?: string }>).map((texts) => texts.remedy ?? ''),
  );
  const translated = Object.entries(german)
    .filter(([key]) => key.endsWith('.remedy'))
    .map(([, text]) => text);

  it.each([
    ['en', english],
    ['de', translated],
  ])('have each command and file between backticks: %s', (_language, texts) => {
    const typed = texts.flatMap(marked).filter(({ text }) => TYPED.test(text));
    expect(typed.length).toBeGreaterThan(50);
    expect(typed.filter(({ code }) => !code)).toEqual([]);
  });
});
