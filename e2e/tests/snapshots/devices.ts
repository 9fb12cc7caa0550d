// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, type Page } from '@playwright/test';
import { replay, resultOf, type Recording } from './replay';
import { entered, shown } from './screens';

export const ANNA = '52:54:00:02:00:01';
export const DEVICES = 'fastpath devices {}';
export const QUARTERS = `fastpath usage {"mac":"${ANNA}","step":"quarter"}`;

export interface Device {
  mac: string;
  name: string;
  paused: string;
  until_ms: number;
  group: string;
  down_bps: number;
  [field: string]: unknown;
}

export interface Answer {
  now_ms: number;
  devices: Device[];
}

export interface Opened {
  answer: Answer;
  /** Calls of `fastpath.device`, and edits sent to `check`. */
  asked: string[];
}

/** Opens a screen of a router that obeys `fastpath.device`. */
export async function open(
  page: Page,
  screen: string,
  edit: (answer: Answer, answers: Recording['answers']) => void = () => undefined,
): Promise<Opened> {
  const opened: Opened = { answer: { now_ms: 0, devices: [] }, asked: [] };
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await replay(page, (answers) => {
    opened.answer = resultOf<Answer>(answers, DEVICES);
    edit(opened.answer, answers);
  });
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    const [, object, method, args] = params as [string, string, string, Record<string, unknown>];
    const reply = (result: object) =>
      route.fulfill({ json: { jsonrpc: '2.0', id, result: [0, result] } });
    if (object === 'fastpath.change' && method === 'check') {
      opened.asked.push(JSON.stringify(args['edits']));
      return reply({ problems: [], diff: [], cuts: [] });
    }
    if (object === 'fastpath.change' && method === 'apply') {
      opened.asked.push(`apply ${JSON.stringify(args['edits'])}`);
      return reply({ id: 1, seconds: 60 });
    }
    if (object === 'fastpath' && method === 'devices') return reply(opened.answer);
    if (object !== 'fastpath.device') return route.fallback();
    opened.asked.push(`${method} ${JSON.stringify(args)}`);
    obey(opened.answer, method, args);
    return reply({});
  });
  await entered(page);
  await page.goto(`#/${screen}`);
  await shown(page);
  return opened;
}

function obey({ devices }: Answer, method: string, args: Record<string, unknown>): void {
  for (const each of devices) {
    if (each.mac !== args['mac'] && each.group !== args['group']) continue;
    const until_ms = Number(args['until_s'] ?? 0) * 1000;
    if (method === 'pause')
      Object.assign(each, { until_ms, paused: until_ms ? 'until' : 'always' });
    if (method === 'resume') Object.assign(each, { until_ms: 0, paused: '' });
    if (method === 'set') Object.assign(each, args);
    if (method === 'limit') Object.assign(each, { limit_down: args['down'], limit_up: args['up'] });
    if (method === 'forget') Object.assign(each, { known: false, name: '', kind: '', group: '' });
  }
}

export const row = (page: Page, mac: string) => page.locator(`tr[data-device="${mac}"]`);
export const names = (page: Page) => page.locator('tr[data-device] th bdi').allInnerTexts();
export const verb = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Waits for the files of the draft; edits made before would be lost. */
export const draftLoaded = (page: Page) =>
  expect(page.locator('[data-verb=forward]')).toBeEnabled();
