// SPDX-License-Identifier: GPL-2.0-or-later
// http.mjs URL WHAT SESSION…: tests access over HTTP with each session and prints lines `subject
// TAB item TAB result…`, one result per session. WHAT:
//   methods    every method of every object on ubus: yes, no, or asked (see HARMFUL)
//   packages   the configurations named on stdin: read, write
//   masked     the same through fastpath.change, which masks secrets: read
//   paths      methods of `file` for the paths on stdin: read, write, list
//   programs   `exec` of `file` for the programs on stdin, without arguments

import { readFileSync } from 'node:fs';

const [url, what, ...sessions] = process.argv.slice(2);
const LIMIT_MS = 600 * Number(process.env['PACE'] ?? 100);
const DENIED = -32002;
/** UBUS_STATUS_PERMISSION_DENIED: the method itself refuses. */
const PERMISSION = 6;

/** Arguments with which methods pass the access check but do nothing. */
const ARGUMENTS = {
  'fastpath *': { e2e: 1 },
  'fastpath.access hash': { password: 1 },
  'fastpath.access login': { username: 1 },
  'fastpath.change apply': { edits: 1 },
  'fastpath.change check': { edits: 1 },
  'fastpath.doctor pmtu': { target: 1 },
  'fastpath.doctor run': { checks: ['none'], sample_ms: 0 },
};

/**
 * Methods that would act without arguments. Called only if rpcd denies the right.
 */
const HARMFUL = {
  luci: ['setBlockDetect', 'setInitAction', 'setLocaltime', 'setPassword', 'setUmount'],
  network: ['reload', 'restart'],
  'network.interface.*': ['down', 'prepare', 'remove', 'renew', 'up'],
  'network.wireless': ['down', 'reconf', 'up'],
  'rpc-sys': ['factory', 'reboot', 'upgrade_start'],
  // Would act on the calling session.
  session: ['destroy', 'revoke', 'unset'],
  service: ['delete', 'signal', 'update_complete', 'update_start'],
  system: ['reboot', 'sysupgrade', 'watchdog'],
  uci: ['apply', 'reload_config'],
};

const KINDS = [
  [/^network\.interface\..*/, 'network.interface.*'],
  [/^hostapd\..*/, 'hostapd.*'],
];

async function post(body) {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const headers = { 'Content-Type': 'application/json' };
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, ...body });
  return (await fetch(url, { method: 'POST', headers, body: text, signal })).json();
}

const invoke = (session, object, method, args) =>
  post({ method: 'call', params: [session, object, method, args] });

async function called(session, object, method, args) {
  const { error, result } = await invoke(session, object, method, args);
  if (error !== undefined && error.code !== DENIED) {
    throw new Error(`${object} ${method}: ${JSON.stringify(error)}`);
  }
  const refused = error !== undefined || result[0] === PERMISSION;
  // Our objects report refusals in the answer; `login` also reports a wrong password that way.
  const own = method !== 'login' && result?.[1]?.error?.code === 'denied';
  return refused || own ? 'no' : 'yes';
}

async function granted(session, object, method) {
  const args = { scope: 'ubus', object, function: method };
  const { result } = await invoke(session, 'session', 'access', args);
  return result?.[1]?.access === true;
}

async function outcome(session, object, kind, method) {
  const harmful = HARMFUL[kind]?.includes(method) ?? false;
  if (harmful && (await granted(session, object, method))) return 'asked';
  const args = ARGUMENTS[`${object} ${method}`] ?? ARGUMENTS[`${object} *`] ?? {};
  return called(session, object, method, args);
}

/** Prints a line with one result per session. Sessions are tested in parallel. */
async function report(subject, item, attempt) {
  const results = await Promise.all(sessions.map(attempt));
  console.log([subject, item, ...results].join('\t'));
}

/** Returns the names of the permitted calls, given as NAME: [object, method, arguments]. */
async function rights(session, calls) {
  const granted = [];
  for (const [name, call] of Object.entries(calls)) {
    if ((await called(session, ...call)) === 'yes') granted.push(name);
  }
  return granted.join(', ') || 'no';
}

async function methods() {
  const { result: objects } = await post({ method: 'list', params: ['*'] });
  const seen = new Set();
  for (const [object, signatures] of Object.entries(objects)) {
    const kind = KINDS.find(([pattern]) => pattern.test(object))?.[1] ?? object;
    if (seen.has(kind)) continue;
    seen.add(kind);
    for (const method of Object.keys(signatures)) {
      await report(kind, method, (session) => outcome(session, object, kind, method));
    }
  }
}

/** The section does not exist, so the write changes nothing. */
const onPackage = (config) => ({
  read: ['uci', 'get', { config }],
  write: ['uci', 'set', { config, section: 'e2e_none', values: { e2e: '1' } }],
});

/** Appends nothing, but creates a missing file. */
const onPath = (path) => ({
  read: ['file', 'read', { path }],
  write: ['file', 'write', { path, data: '', append: true }],
  list: ['file', 'list', { path }],
});

const lines = () => readFileSync(0, 'utf8').split('\n').filter(Boolean);

switch (what) {
  case 'methods':
    await methods();
    break;
  case 'packages':
    for (const config of lines()) {
      await report('uci', config, (session) => rights(session, onPackage(config)));
    }
    break;
  case 'masked':
    for (const config of lines()) {
      const get = { read: ['fastpath.change', 'get', { configs: [config] }] };
      await report('fastpath.change get', config, (session) => rights(session, get));
    }
    break;
  case 'paths':
    for (const path of lines()) {
      await report('file', path, (session) => rights(session, onPath(path)));
    }
    break;
  case 'programs':
    for (const command of lines()) {
      const run = { exec: ['file', 'exec', { command }] };
      await report('file', command, (session) => rights(session, run));
    }
    break;
  default:
    throw new Error(`unknown: ${what}`);
}
