// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { APIRequestContext, Page } from '@playwright/test';
import type { User } from './fixture';
import { sessionOf } from './session';

const app = join(import.meta.dirname, '../../../luci-app-fastpath');
const view = readFileSync(
  join(app, 'htdocs/luci-static/resources/view/fastpath/screen.js'),
  'utf8',
);

export const BASE = '/cgi-bin/luci/admin/fastpath';

/** Hostile theme: styles bare elements and common class names, and sets inherited properties. */
const theme = `
  :root[data-darkmode="true"] body { background: #222; color: #eee }
  body { background: #eee; margin: 0; font: italic 22px/3 serif; letter-spacing: 4px;
    text-align: right; text-transform: uppercase; color: #333 }
  * { border: 3px dotted red !important; box-sizing: content-box }
  table, button, input, select, h1, h2, header, nav, .panel, .button, .cell, .hidden {
    display: inline !important; padding: 31px !important; font-size: 30px !important }
`;

/** The interface that LuCI 25.12.5 gives a view, structured as its luci.js. */
const host = (session: string) => `
  const L = {
    env: { sessionid: ${JSON.stringify(session)}, ubuspath: '/ubus/', resource_version: '25.12.5' },
    url: (...parts) => ['/cgi-bin/luci', ...parts].join('/'),
  };
  const E = (name, attributes, content) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) node.setAttribute(key, value);
    if (content) node.append(content);
    return node;
  };
  const _ = (text) => text;
  String.prototype.format = function (...values) {
    return this.replace(/%s/g, () => values.shift());
  };
  const view = {
    extend: (own) => ({ handleSave() {}, handleSaveApply() {}, handleReset() {}, ...own }),
  };
  const footer = (screen) => {
    const actions = E('div', { class: 'cbi-page-actions' });
    for (const name of ['handleSaveApply', 'handleSave', 'handleReset'])
      if (screen[name]) actions.append(E('button', {}, name));
    return actions.firstChild ? [actions] : [];
  };
  // LuCI evaluates the source as the body of a function that returns the class.
  fetch('/luci-static/resources/view/fastpath/screen.js').then((answer) => answer.text())
    .then((source) => new Function('L', 'E', '_', 'view', source)(L, E, _, view))
    .then((screen) => document.querySelector('#view')
      .replaceChildren(screen.render(), ...footer(screen)));
`;

const page = (session: string, lang: string, title: string) => `<!doctype html>
  <html lang="${lang}"><head><meta charset="utf-8"><title>${title}</title>
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <style>${theme}</style></head><body>
  <header>LuCI</header>
  <ul id="menu"><li class="active"><a class="active" href="${BASE}/overview">Overview</a></li>
  <li><a href="${BASE}/flows">Flows</a></li></ul>
  <h2 id="theirs">Theirs</h2><div id="view"></div>
  <script>${host(session)}</script></body></html>`;

export async function openInLuci(
  tab: Page,
  request: APIRequestContext,
  screen: string,
  {
    user = 'root',
    lang = 'en',
    headers = {},
    // LuCI's document title; without a menu entry, only the router's name.
    title = 'gateway | Overview',
  }: { user?: User; lang?: string; headers?: Record<string, string>; title?: string } = {},
): Promise<string> {
  const session = await sessionOf(request, user);
  await tab.route(`**${BASE}/**`, (route) =>
    route.fulfill({ headers, contentType: 'text/html', body: page(session, lang, title) }),
  );
  await tab.route('**/luci-static/resources/view/fastpath/screen.js*', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: view }),
  );
  await tab.goto(`${BASE}/${screen}`);
  return session;
}
