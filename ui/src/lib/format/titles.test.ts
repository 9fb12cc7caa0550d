// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';

/** Tooltips need a mouse, so they must not be the only place of information. */
const sources = import.meta.glob<string>('../**/*.svelte', {
  query: '?raw',
  import: 'default',
  eager: true,
});

/** Files with tooltips on elements: their number, and why each is harmless. */
const accepted: Record<string, [number, string]> = {
  '../flows/FlowRow.svelte': [2, 'full text of a cell that may be cut'],
  '../flows/GroupRow.svelte': [1, 'full text of a cell that may be cut'],
  '../overview/Protection.svelte': [1, 'full text of two lines; the linked screen has it'],
  '../flows/FlowTraffic.svelte': [1, 'all digits of a rounded figure'],
  '../form/EditCount.svelte': [1, 'accessible name of a button with a sign'],
  '../shell/Header.svelte': [1, 'accessible name of a button with a sign'],
  '../shell/Rail.svelte': [1, 'accessible name of a button with a sign'],
  '../shell/UserMenu.svelte': [1, 'user of a button with a sign; its menu has it, too'],
};

/** Components whose property `title` is a visible heading. */
const headings = ['ChartPanel', 'Confirm', 'ConfirmButton', 'Action', 'Sheet'];

/** Returns the names of start tags with an attribute `title`. Attributes may contain `>`. */
function titled(source: string): string[] {
  const markup = source
    .replace(/<(script|style)\b[\s\S]*?<\/\1>/g, '')
    .replace(/<!--[\s\S]*?-->/g, '');
  const value = String.raw`"[^"]*"|'[^']*'|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}`;
  const tags = markup.matchAll(
    new RegExp(String.raw`<([A-Za-z][\w.:-]*)((?:${value}|[^<>"'{}])*)>`, 'g'),
  );
  return [...tags]
    .filter(([, , attributes = '']) => {
      const names = attributes.replace(new RegExp(`=(?:${value})`, 'g'), '=');
      return /(?:^|\s)(?:title(?=[\s=/]|$)|\{title\})/.test(names);
    })
    .map(([, name = '']) => name);
}

it('finds title attributes in any form', () => {
  expect(titled('<p title="x">')).toEqual(['p']);
  expect(titled('<input\n {title}\n>')).toEqual(['input']);
  expect(titled('<Button onclick={() => ask(a > b)} title={t(`a.${b}`)}>')).toEqual(['Button']);
  expect(titled('<h2 data-title="x" aria-label={title}>{title}</h2>')).toEqual([]);
});

it('shows no information only in a tooltip', () => {
  const found = Object.entries(sources).flatMap(([file, source]) => {
    const elements = titled(source).filter((name) => !headings.includes(name));
    return elements.length > 0 ? [[file, elements.length] as const] : [];
  });
  const known = Object.entries(accepted).map(([file, [number]]) => [file, number] as const);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(known));
});
