// SPDX-License-Identifier: GPL-2.0-or-later
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { screens } from '../lib/shell/route.svelte';

const app = join(import.meta.dirname, '../../../luci-app-fastpath');
const read = (file: string) => readFileSync(join(app, file), 'utf8');
const json = (file: string) => JSON.parse(read(file)) as unknown;

interface Entry {
  title?: string;
  order: number;
  action: { type: string; path?: string };
  depends?: { acl?: string[]; uci?: unknown };
}

const menuFile = 'root/usr/share/luci/menu.d/luci-app-fastpath.json';
const menu = json(menuFile) as Record<string, Entry>;
const acl = json('root/usr/share/rpcd/acl.d/luci-app-fastpath.json') as Record<
  string,
  { description: string }
>;

describe('the menu', () => {
  it('has an entry for each screen of the page, in the order of the page', () => {
    const entries = Object.keys(menu).filter((path) => path !== 'admin/fastpath');
    expect(entries).toEqual(screens.map((screen) => `admin/fastpath/${screen}`));
    const orders = entries.map((path) => menu[path]?.order ?? 0);
    expect(orders).toEqual([...orders].sort((a, b) => a - b));
    expect(menu['admin/fastpath']?.action).toEqual({ type: 'firstchild' });
  });

  it('references only existing views and rights', () => {
    for (const [path, entry] of Object.entries(menu)) {
      expect(Object.keys(entry).sort(), path).toEqual(
        [
          ...['action', 'order'],
          ...(path === 'admin/fastpath/wizard' ? [] : ['title']),
          ...(entry.depends ? ['depends'] : []),
        ].sort(),
      );
      if (entry.action.type === 'view') {
        const file = `htdocs/luci-static/resources/view/${entry.action.path}.js`;
        expect(existsSync(join(app, file)), file).toBe(true);
      }
      for (const group of entry.depends?.acl ?? []) expect(acl).toHaveProperty([group]);
    }
    expect(menu['admin/fastpath']?.depends?.acl).toEqual(['luci-app-fastpath']);
  });
});

/** Returns msgid → msgstr of a PO file with one line per message. */
function messages(file: string): Map<string, string> {
  const found = read(file).matchAll(/^msgid "(.+)"\nmsgstr "(.*)"$/gm);
  return new Map([...found].map((match) => [match[1] ?? '', match[2] ?? '']));
}

describe('the texts that LuCI shows', () => {
  const views = readdirSync(join(app, 'htdocs'), { recursive: true })
    .map((file) => join('htdocs', String(file)))
    .filter((file) => file.endsWith('.js'));
  // The texts that LuCI's build/i18n-scan.pl finds: titles, descriptions, and strings in _('…').
  const used = [
    ...Object.values(menu).flatMap((entry) => entry.title ?? []),
    ...Object.values(acl).map((group) => group.description),
    ...views.flatMap((file) =>
      [...read(file).matchAll(/\b_\('([^']+)'\)/g)].map((match) => match[1] ?? ''),
    ),
  ];

  it('are exactly the texts of the template', () => {
    expect(used.length).toBeGreaterThan(6);
    expect([...messages('po/templates/fastpath.pot').keys()].sort()).toEqual([
      ...new Set(used.sort()),
    ]);
  });

  it('are translated into German with the same parameters', () => {
    const german = messages('po/de/fastpath.po');
    expect([...german.keys()].sort()).toEqual([...new Set(used)].sort());
    for (const [id, text] of german) {
      expect(text, id).not.toBe('');
      expect(text.match(/%\w/g), id).toEqual(id.match(/%\w/g));
    }
  });
});

it('LuCI’s minifiers, which break the page, are off', () => {
  const makefile = read('Makefile');
  expect(makefile).toMatch(/^LUCI_MINIFY_JS:=0$/m);
  expect(makefile).toMatch(/^LUCI_MINIFY_CSS:=0$/m);
});
