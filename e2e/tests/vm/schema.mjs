// SPDX-License-Identifier: GPL-2.0-or-later
// schema.mjs URL SESSION FOLDER TICK: validates the answer of every method, and the notification
// TICK, against the JSON Schemas in FOLDER.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv/dist/2020.js';

const [url, session, folder, tick] = process.argv.slice(2);
const LIMIT_MS = 200 * Number(process.env['PACE'] ?? 100);

const ajv = new Ajv({ strict: false, allErrors: true });
const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
const names = files.map((file) => file.replace('.json', ''));
for (const name of names) {
  ajv.addSchema(JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')));
}

async function call(method, args, object = 'fastpath') {
  const params = [session, object, method, args];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'call', params });
  const signal = AbortSignal.timeout(LIMIT_MS);
  const reply = await (await fetch(url, { method: 'POST', body, signal })).json();
  if (reply.result?.[0] !== 0) throw new Error(`${method}: ${JSON.stringify(reply)}`);
  return reply.result[1];
}

let wrong = 0;
const seen = new Set();

function check(method, what, answer) {
  seen.add(method);
  const validate = ajv.compile({ $ref: `${method}.json#/properties/reply` });
  if (validate(answer)) return;
  wrong += 1;
  console.log(`${method} ${what}: ${ajv.errorsText(validate.errors)}`);
}

async function checkCall(method, args) {
  const answer = await call(method, args);
  check(method, JSON.stringify(args), answer);
  return answer;
}

await checkCall('status', {});
const page = await checkCall('flows', { limit: 500 });
const documented = readFileSync(join(folder, 'flows.json'), 'utf8');
for (const column of page.cols) {
  if (!documented.includes(column)) throw new Error(`column ${column} is not documented`);
}
for (const group of ['host', 'service', 'vlan', 'path', 'traffic']) {
  await checkCall('flows', { group });
  await checkCall('top', { by: group });
}
const id = page.cols.indexOf('id');
for (const row of page.rows.slice(0, 5)) await checkCall('flow', { id: row[id] });
for (const series of ['rate', 'flows']) {
  for (const step_s of [1, 10, 60]) await checkCall('history', { series, step_s });
}
for (const step of ['quarter', 'day']) {
  await checkCall('usage', { step });
  await checkCall('usage', { step, mac: '02:00:00:00:01:0a', from_ms: 1 });
}
await checkCall('journal', { limit: 10 });
await checkCall('topology', {});
// Like the page, call the doctor directly instead of through the daemon.
check('doctor', '', await call('run', { sample_ms: 100 }, 'fastpath.doctor'));
for (const method of ['cpu', 'devices', 'ebpf', 'ips', 'metrics', 'alerts', 'blocks', 'exports']) {
  await checkCall(method, {});
}
for (const method of ['reinspect', 'rules_update']) await checkCall(method, {});
const refused = await call('block_release', { address: '192.0.2.99' }).catch(
  (error) => error.message,
);
if (!String(refused).includes('[4]')) throw new Error(`block_release: ${refused}`);
await checkCall('engine', { set: 'flowtable' });
await checkCall('flush', {});
check('tick', '', JSON.parse(tick));

// ips-drop and ips-blocks cause these events; revoke tests `disconnect`, which the web may not
// call.
const elsewhere = ['types', 'alert', 'block_release', 'disconnect'];
const missing = names.filter((name) => !elsewhere.includes(name) && !seen.has(name));
if (missing.length > 0) throw new Error(`not called: ${missing.join(', ')}`);
process.exit(wrong > 0 ? 1 : 0);
