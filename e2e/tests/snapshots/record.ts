// SPDX-License-Identifier: GPL-2.0-or-later
import { writeFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { expect, logIn, test } from '../browser/fixture';
import { hosts, type Lan } from '../browser/lab';
import { CONFIGS, keyOf, LOG, RECORDING, resultOf, type Recording } from './replay';
import { rows } from './rows';
import { screens, shown } from './screens';

/** A screen counts as complete after this time without a new request. */
const QUIET_MS = 5000;

/**
 * Records the first answer to each call. Returns a function that reports whether all calls are
 * answered.
 */
function listen(page: Page, answers: Recording['answers'], asked: Set<string>): () => boolean {
  const waiting = new Set<unknown>();
  let newest = Date.now();
  page.on('request', (request) => {
    if (new URL(request.url()).pathname !== '/ubus') return;
    const { params } = request.postDataJSON() as { params: [string, string, string, object] };
    const key = keyOf(params[1], params[2], params[3]);
    if (asked.has(key)) return;
    asked.add(key);
    waiting.add(request);
    newest = Date.now();
  });
  page.on('requestfailed', (request) => waiting.delete(request));
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (pathname !== '/ubus') return;
    waiting.delete(response.request());
    const call = response.request().postDataJSON() as { params: unknown[] };
    const [, object, method, args] = call.params as [string, string, string, object];
    void response.json().then(
      ({ result, error }: { result?: unknown[]; error?: unknown }) => {
        const login = method === 'login' ? [0, { ubus_rpc_session: '1'.repeat(32) }] : result;
        answers[keyOf(object, method, args)] ??= error ? { error } : { result: login };
      },
      () => undefined,
    );
  });
  return () => waiting.size === 0 && Date.now() - newest > QUIET_MS;
}

const BULK_MS = 40_000;

/** Ends the history with the current values, so that later polls change nothing. */
function endHistoryNow(answers: Recording['answers']): void {
  const of = (start: string) =>
    resultOf(answers, Object.keys(answers).find((each) => each.startsWith(start)) ?? '');
  const { now_ms, paths } = of('fastpath status') as {
    now_ms: number;
    paths: Record<string, { bps: number }>;
  };
  const history = of('fastpath history') as { cols: string[]; rows: number[][] };
  const now = history.cols.map((col) => paths[col]?.bps ?? now_ms);
  history.rows = [...history.rows.filter(([at]) => (at ?? 0) < now_ms - 200), now];
}

/** Merges the configurations of all calls into one answer, and keeps only the longest log. */
function merged(answers: Recording['answers']): Recording['answers'] {
  const configs = {};
  let log: unknown[] = [];
  const others = Object.entries(answers).filter(([key]) => {
    if (key.startsWith('log read ')) {
      const read = resultOf<{ log: unknown[] }>(answers, key).log;
      log = read.length > log.length ? read : log;
      return false;
    }
    if (!key.startsWith('fastpath.change get ')) return true;
    Object.assign(configs, resultOf<{ configs: object }>(answers, key).configs);
    return false;
  });
  const all = { [CONFIGS]: { result: [0, { configs }] }, [LOG]: { result: [0, { log }] } };
  return { ...Object.fromEntries(others), ...all };
}

async function startTraffic(lan: Lan): Promise<void> {
  await lan.download(hosts.isp, '900k');
  await lan.download(hosts.h20, '400k');
  const curl = 'exec curl -gsS -o /dev/null --limit-rate';
  await lan.begin('h11', 'h11', `${curl} 300k http://[2001:db8:ffff::1]/256.bin`);
  await lan.begin('h10', 'ping', `exec ping -i 1 ${hosts.h20}`);
}

test('records the answers for every screen', async ({ page, lan, router }) => {
  test.setTimeout(900_000);
  const answers: Recording['answers'] = {};
  await router.inspectInline(`	option block '1'

config policy
	option name 'cameras'
	option src 'iot'
	option dest 'wan'
	option action 'always'

config device
	option mac '52:54:00:02:00:01'
	option name "Anna's phone"
	option kind 'phone'
	option group 'children'

config device
	option mac '02:11:22:33:44:55'
	option name 'Old tablet'
	option kind 'tablet'
	option group 'children'
	option paused '1'

config schedule
	option name 'bedtime'
	list device '02:11:22:33:44:55'
	list day 'sun'
	list day 'mon'
	list day 'tue'
	list day 'wed'
	list day 'thu'
	option from '21:00'
	option to '07:00'

config export 'store'
	option host '${hosts.h10}'

config export
	option name 'archive'
	option host '${hosts.isp}'
	option port '4740'
	option protocol 'tcp'

config export 'lab'
	option enabled '0'
	option host '2001:db8:10::11'`);
  await lan.begin('h10', 'collector', 'exec socat -u UDP-RECV:4739 CREATE:/dev/null');
  await startTraffic(lan);
  await router.run('fastpathctl doctor >/dev/null || true');
  const report = () => router.run('fastpathctl --json status');
  await expect.poll(report, { timeout: 60_000 }).toContain('"worst"');
  const begun = Date.now();
  await lan.badPage(hosts.h20);
  await lan.badPage();
  const asked: Recording['asked'] = {};
  const questions = new Set<string>();
  const quiet = listen(page, answers, questions);
  await expect.poll(() => Date.now() - begun, { timeout: 2 * BULK_MS }).toBeGreaterThan(BULK_MS);
  await page.goto('#/overview');
  await logIn(page);
  for (const [screen, address] of Object.entries(screens)) {
    await page.goto('about:blank');
    questions.clear();
    await page.goto(`#/${address}`);
    await shown(page);
    await expect.poll(quiet, { timeout: 60_000 }).toBe(true);
    asked[screen] = [...questions].sort();
  }
  await expect.poll(() => Object.keys(answers).length).toBeGreaterThan(20);
  const entries = Object.entries(merged(answers)).sort(([a], [b]) => (a < b ? -1 : 1));
  const sorted = Object.fromEntries(entries);
  endHistoryNow(sorted);
  const recording: Recording = { at_ms: begun + BULK_MS, answers: sorted, asked };
  writeFileSync(RECORDING, `${rows(recording)}\n`);
});
