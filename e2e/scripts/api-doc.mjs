// SPDX-License-Identifier: GPL-2.0-or-later
// Writes docs/API.md from the JSON Schemas of the ubus methods; --check compares instead.

import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const folder = join(top, 'feeds/fastpathd/src/schema');
const target = join(top, 'docs/API.md');
const order = [
  'status',
  'flows',
  'flow',
  'top',
  'devices',
  'history',
  'usage',
  'journal',
  'topology',
  'cpu',
  'ebpf',
  'ips',
  'metrics',
  'alerts',
  'blocks',
  'exports',
  'doctor',
  'engine',
  'flush',
  'disconnect',
  'reinspect',
  'rules_update',
  'block_release',
  'tick',
  'alert',
];

/** Objects of rpcd's exec plug-ins; each has a folder of schemas. */
const plugins = {
  access: ['begin', 'login', 'hash'],
  change: ['get', 'check', 'apply', 'confirm', 'revert', 'pending', 'list', 'undo'],
  device: ['set', 'limit', 'pause', 'resume', 'forget', 'ssids'],
  doctor: ['run', 'last', 'fix', 'pmtu', 'ppe'],
  notify: ['status', 'test'],
  wireless: ['status'],
};

const load = (name) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
const types = load('types.json').$defs;

function refName(schema) {
  return schema.$ref?.split('/').pop();
}

function typeOf(schema) {
  const ref = refName(schema);
  if (ref) return `[${ref}](#${ref.toLowerCase()})`;
  if (schema.enum) return schema.enum.map((v) => `\`${JSON.stringify(v)}\``).join(' ');
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items)}`;
  if (Array.isArray(schema.type)) return schema.type.join(' or ');
  return schema.type ?? 'any';
}

function limits(schema) {
  const parts = [];
  if (schema.minimum !== undefined) parts.push(`at least ${schema.minimum}`);
  if (schema.maximum !== undefined) parts.push(`at most ${schema.maximum}`);
  if (schema.maxLength !== undefined) parts.push(`at most ${schema.maxLength} characters`);
  return parts.join(', ');
}

/** Returns a row per field. Fields of nested objects follow with dotted names. */
function rows(schema, prefix = '') {
  const lines = [];
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const optional = schema.required?.includes(name) ? '' : ' (optional)';
    const inner = field.type === 'array' ? field.items : field;
    const text = [field.description, inner !== field && inner.description, limits(field)];
    const meaning = text.filter(Boolean).join('; ').replaceAll('|', '\\|');
    lines.push(`| \`${prefix}${name}\`${optional} | ${typeOf(field)} | ${meaning} |`);
    const suffix = inner === field ? '.' : '[].';
    if (inner.properties) lines.push(...rows(inner, `${prefix}${name}${suffix}`));
  }
  return lines;
}

function fields(title, schema) {
  if (!schema) return [];
  if (schema.$ref) return [`${title}: ${typeOf(schema)}.`, ''];
  const lines = rows(schema);
  if (lines.length === 0) return [`${title}: no fields.`, ''];
  return [`${title}:`, '', '| field | type | meaning |', '| --- | --- | --- |', ...lines, ''];
}

function method(name, title = name) {
  const schema = load(`${name}.json`);
  const { request, reply } = schema.properties;
  return [
    `## ${title}`,
    '',
    `${schema.description} Access: **${schema.access}**.`,
    '',
    ...fields('Request', request),
    ...fields(schema.access === 'notification' ? 'Payload' : 'Reply', reply),
  ];
}

function type([name, schema]) {
  const head = [`### ${name}`, '', schema.description, ''];
  if (schema.enum || schema.anyOf) return [...head, typeOf(schema), ''];
  return [...head, '| field | type | meaning |', '| --- | --- | --- |', ...rows(schema), ''];
}

function plugin([name, methods]) {
  const known = readdirSync(join(folder, name)).map((f) => f.replace('.json', ''));
  const missing = known.filter((n) => n !== 'types' && !methods.includes(n));
  if (missing.length) throw new Error(`not among the methods here: ${missing.join(', ')}`);
  return [
    `# The ubus object \`fastpath.${name}\``,
    '',
    `Generated from \`feeds/fastpathd/src/schema/${name}/*.json\`. rpcd runs a program per call,`,
    'so a refusal is an answer as well: `{"error": …}`, a [Refusal](#refusal) with more fields',
    'that each method lists. `argument` is an argument that is unknown, missing, of a wrong type',
    'or out of range (`argument` has its name), `bus` an object of rpcd that does not answer.',
    '',
    ...methods.flatMap((each) => method(join(name, each), `fastpath.${name} ${each}`)),
    ...typesOf(name),
  ];
}

function typesOf(name) {
  const file = join(name, 'types.json');
  if (!existsSync(join(folder, file))) return [];
  const types = Object.entries(load(file).$defs).flatMap(type);
  return [`## Types of fastpath.${name}`, '', ...types];
}

/** Example of a login by a program, executed by `e2e/tests/vm/api.sh`. */
const FIRST_CALL = `
\`\`\`sh
router=http://192.168.1.1 user=root password=secret
nobody=00000000000000000000000000000000
ask() {
    printf '{"jsonrpc":"2.0","id":1,"method":"call","params":["%s","%s","%s",%s]}' "$@" |
        curl -s -d @- "$router/ubus"
}
nonce=$(ask "$nobody" fastpath.access begin '{}' | sed 's/.*"nonce": *"\\([^"]*\\)".*/\\1/')
session=$(ask "$nobody" fastpath.access login \\
    "{\\"username\\":\\"$user\\",\\"password\\":\\"$password\\",\\"nonce\\":\\"$nonce\\"}" |
    sed 's/.*"ubus_rpc_session": *"\\([^"]*\\)".*/\\1/')
ask "$session" fastpath status '{}'
\`\`\`
`;

function page() {
  const files = readdirSync(folder).filter((f) => f.endsWith('.json'));
  const known = files.map((f) => f.replace('.json', ''));
  const missing = known.filter((n) => n !== 'types' && !order.includes(n));
  if (missing.length) throw new Error(`not in the order of this script: ${missing.join(', ')}`);
  return [
    '# The ubus object `fastpath`',
    '',
    'Generated from `feeds/fastpathd/src/schema/*.json` by `node e2e/scripts/api-doc.mjs`: edit',
    'the schemas.',
    '',
    'On the router root calls it by `ubus call fastpath status`. Over HTTP it is JSON-RPC (`POST',
    '/ubus`): a [login](#fastpathaccess-login) answers a session, the first parameter of calls.',
    ...FIRST_CALL.split('\n'),
    'Clients that know only rpcd\'s `session login`, such as Home Assistant, need',
    '[an option](packages.md). Access is **everybody** (without a login), **read** (viewers and',
    'administrators), **write** (administrators), **local** (programs on the router, by ubus), or',
    '**notification**.',
    '',
    'The answer of JSON-RPC is `result: [STATUS, ANSWER]`, or `error` with code -32002 for a',
    'session that has ended or lacks the right. Notifications',
    'are for programs on the router (`ubus subscribe fastpath`): `:subscribe` is not granted over',
    'HTTP, because uhttpd of OpenWrt 25.12.5 (7b1bec4) keeps the connection of each subscriber',
    'that has gone, and accepts no more at `max_connections`. Every method accepts',
    '`ubus_rpc_session`, which uhttpd adds to each call. The ubus status is 2 (invalid argument)',
    'for an argument of a wrong type or an unknown name, 4 (not found) for an object that does not',
    'exist any more. Fields may be added to answers; no field listed here is removed or renamed',
    'within a major version.',
    '',
    ...order.flatMap((name) => method(name)),
    '## Types',
    '',
    ...Object.entries(types).flatMap(type),
    ...Object.entries(plugins).flatMap(plugin),
  ].join('\n');
}

const text = page();
if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('docs/API.md does not match the schemas: node e2e/scripts/api-doc.mjs');
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
