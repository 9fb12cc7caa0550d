// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page, Route } from '@playwright/test';

/** A recording of a gateway's answers by object, method and arguments. */
export interface Recording {
  at_ms: number;
  answers: Record<string, unknown>;
  asked: Record<string, string[]>;
}

export const RECORDING = fileURLToPath(new URL('answers.json', import.meta.url));
/** Key of the answer with all configurations; a call requests some of them. */
export const CONFIGS = 'fastpath.change get {}';
/** Key of the answer with the whole log; a call requests a number of lines. */
export const LOG = 'log read {}';
const USAGE = 'fastpath usage {}';
const JOURNAL = 'fastpath journal {}';
const PAGE = fileURLToPath(new URL('../../../ui/dist/', import.meta.url));

const types: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

export interface Replay {
  unknown: string[];
  /** Returns the calls of a screen that were not answered since the last navigation. */
  awaited: (screen: string) => string[];
}

/** Returns the key of a call, without the arguments of a login, which contain the password. */
export function keyOf(object: string, method: string, args: object): string {
  return `${object} ${method} ${method === 'login' ? '{}' : JSON.stringify(args)}`;
}

export function resultOf<T>(answers: Recording['answers'], key: string): T {
  return (answers[key] as { result: [number, T] }).result[1];
}

function part(answers: Recording['answers'], call: string, args: object): unknown {
  const { configs, lines, ...rest } = args as { configs?: string[]; lines?: number };
  if (call === CONFIGS && configs) {
    const all = Object.entries(resultOf<{ configs: object }>(answers, CONFIGS).configs);
    const named = all.filter(([name]) => configs.includes(name));
    return { result: [0, { configs: Object.fromEntries(named) }] };
  }
  if (call === LOG && lines) {
    const { log } = resultOf<{ log: unknown[] }>(answers, LOG);
    return { result: [0, { log: log.slice(-lines) }] };
  }
  // The recording has whole answers of these methods.
  if (call === JOURNAL && 'after' in rest) {
    return answers[keyOf('fastpath', 'journal', { ...rest, after: undefined })];
  }
  if (call === USAGE && ('from_ms' in rest || 'to_ms' in rest)) {
    const asked = { ...rest, from_ms: undefined, to_ms: undefined };
    return answers[keyOf('fastpath', 'usage', asked)];
  }
  return undefined;
}

/**
 * Serves the page from the last build, with answers from the recording.
 *
 * @param edit changes the answers first, by the keys of `keyOf`
 */
export async function replay(
  page: Page,
  edit: (answers: Recording['answers']) => void = () => undefined,
): Promise<Replay> {
  const { at_ms, answers, asked } = JSON.parse(readFileSync(RECORDING, 'utf8')) as Recording;
  answers['fastpath.doctor run {}'] = structuredClone(answers['fastpath.doctor last {}']);
  edit(answers);
  const unknown: string[] = [];
  const answered = new Set<string>();
  const answer = (route: Route): Promise<void> => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    const [, object, method, args] = params as [string, string, string, object];
    const key = keyOf(object, method, args);
    const known = answers[key] ?? part(answers, keyOf(object, method, {}), args);
    if (!known) unknown.push(key);
    const json = { jsonrpc: '2.0', id, ...(known ?? { result: [5] }) };
    return route.fulfill({ json });
  };
  page.on('request', (request) => {
    if (request.isNavigationRequest()) answered.clear();
  });
  page.on('requestfinished', (request) => {
    if (new URL(request.url()).pathname !== '/ubus') return;
    const { params } = request.postDataJSON() as { params: [string, string, string, object] };
    answered.add(keyOf(params[1], params[2], params[3]));
  });
  await page.clock.setFixedTime(at_ms);
  await page.route('**/*', (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === '/ubus') return answer(route);
    const file = pathname.replace('/fastpath/', '') || 'index.html';
    const contentType = types[extname(file)] ?? 'application/octet-stream';
    return route.fulfill({ path: PAGE + file, contentType });
  });
  const awaited = (screen: string) =>
    (asked[screen] ?? ['no such screen']).filter((key) => !answered.has(key));
  return { unknown, awaited };
}
