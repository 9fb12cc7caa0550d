// SPDX-License-Identifier: GPL-2.0-or-later
// Reads profiles for the scripts in this folder and for the tests:
//   profile.mjs list                       name, title and target of each profile
//   profile.mjs check [FILE…]              checks files, or all profiles, against the schema
//   profile.mjs get NAME KEY…              values and list items, one per line
//   profile.mjs facts KEY…                 name, key and value (or list item) of every profile
//   profile.mjs config NAME                the profile as OpenWrt's configuration
//   profile.mjs survived NAME FILE         symbols missing in FILE, a .config after defconfig
//   profile.mjs overlay NAME FOLDER        the image's files that belong to no package
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { parseDocument } from 'yaml';
import { seed, survivors } from './config.mjs';
import { overlay } from './overlay.mjs';

const HOME = process.env.PROFILES ?? join(dirname(fileURLToPath(import.meta.url)), '..');

class Refusal extends Error {}

function names() {
  return readdirSync(HOME)
    .filter((f) => f.endsWith('.yml') && f !== 'common.yml')
    .map((f) => f.slice(0, -4))
    .sort();
}

function read(file) {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (e) {
    throw new Refusal(`${file}: cannot be read: ${e.message}`);
  }
  const document = parseDocument(text);
  if (document.errors.length > 0) {
    throw new Refusal(document.errors.map((e) => `${file}: ${e.message}`).join('\n'));
  }
  return document.toJS() ?? {};
}

let validate;
function validators() {
  if (validate) return validate;
  const schema = JSON.parse(readFileSync(join(HOME, 'schema.json'), 'utf8'));
  const ajv = new Ajv({ allErrors: true, strict: true });
  validate = { profile: ajv.compile(schema), common: ajv.compile({ ...schema, required: [] }) };
  return validate;
}

function wording(error) {
  const at = error.instancePath.slice(1).replaceAll('/', '.') || 'profile';
  const { additionalProperty, allowedValues, propertyName } = error.params;
  if (additionalProperty !== undefined) return `${at}: ${additionalProperty} is not a known key`;
  if (allowedValues !== undefined) return `${at}: must be one of ${allowedValues.join(', ')}`;
  if (propertyName !== undefined) return `${at}: ${propertyName} is not a valid name here`;
  return `${at}: ${error.message}`;
}

function problems(file, value, validate) {
  const found = [];
  if (!validate(value)) {
    found.push(...new Set(validate.errors.map((e) => `${file}: ${wording(e)}`)));
  }
  const name = basename(file, '.yml');
  if (name !== 'common' && typeof value.name === 'string' && value.name !== name) {
    found.push(`${file}: name: is ${value.name}, the file is called ${name}`);
  }
  const ports = value.ports ?? {};
  const both = (ports.lan ?? []).filter?.((p) => ports.wan?.includes?.(p)) ?? [];
  for (const port of both) found.push(`${file}: ports: ${port} is in lan and in wan`);
  const common = name === 'common' ? {} : read(join(HOME, 'common.yml'));
  for (const left of Array.isArray(value.without) ? value.without : []) {
    if (!common.packages?.includes(left)) {
      found.push(`${file}: without: ${left} is not among the packages of common.yml`);
    }
  }
  return found;
}

function check(files) {
  const { profile, common } = validators();
  const all = files.length > 0 ? files : ['common', ...names()].map((n) => join(HOME, `${n}.yml`));
  const found = all.flatMap((file) => {
    try {
      const value = read(file);
      const kind = basename(file) === 'common.yml' ? common : profile;
      return problems(file, value, kind);
    } catch (e) {
      if (e instanceof Refusal) return [e.message];
      throw e;
    }
  });
  if (found.length > 0) throw new Refusal(found.join('\n'));
}

// Returns a profile merged with common.yml. Throws if either does not match the schema.
function load(name) {
  if (!names().includes(name)) {
    throw new Refusal(`unknown profile '${name}'; there are: ${names().join(' ')}`);
  }
  const file = join(HOME, `${name}.yml`);
  check([join(HOME, 'common.yml'), file]);
  const common = read(join(HOME, 'common.yml'));
  const own = read(file);
  const left = new Set(own.without ?? []);
  return {
    ...common,
    ...own,
    packages: [...new Set([...common.packages, ...(own.packages ?? [])])].filter(
      (p) => !left.has(p),
    ),
    config: { ...common.config, ...own.config },
    defaults: { ...common.defaults, ...own.defaults },
    sysctl: { ...common.sysctl, ...own.sysctl },
  };
}

function get(profile, key) {
  const value = key.split('.').reduce((at, part) => at?.[part], profile);
  const line = (v) => (typeof v === 'object' ? Object.values(v).join('\t') : String(v ?? ''));
  return Array.isArray(value) ? value.map((v) => `${line(v)}\n`).join('') : `${line(value)}\n`;
}

function getAll(profile, keys) {
  return keys.map((key) => get(profile, key)).join('');
}

function facts(keys) {
  return names()
    .map(load)
    .flatMap((p) => keys.map((key) => [p, key]))
    .flatMap(([p, key]) =>
      get(p, key)
        .split('\n')
        .filter(Boolean)
        .map((value) => `${p.name}\t${key}\t${value}\n`),
    )
    .join('');
}

function writeOverlay(profile, folder) {
  for (const { path, mode, text } of overlay(profile)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
  }
}

function survived(profile, file) {
  const lost = survivors(profile, readFileSync(file, 'utf8'));
  if (lost.length === 0) return;
  const width = Math.max(...lost.map((l) => l.symbol.length));
  const lines = lost.map((l) => `  ${l.symbol.padEnd(width)}  wanted ${l.wanted}, ${l.found}`);
  throw new Refusal(`${profile.name}: lost by \`make defconfig\`:\n${lines.join('\n')}`);
}

function main([command, ...rest]) {
  switch (command) {
    case 'list':
      return names()
        .map((n) => load(n))
        .map((p) => `${p.name}\t${p.title}\t${p.target}/${p.subtarget} ${p.device}\n`)
        .join('');
    case 'check':
      return check(rest);
    case 'get':
      return getAll(load(rest[0]), rest.slice(1));
    case 'facts':
      return facts(rest);
    case 'config':
      return seed(load(rest[0]));
    case 'survived':
      return survived(load(rest[0]), rest[1]);
    case 'overlay':
      return writeOverlay(load(rest[0]), rest[1]);
    default:
      throw new Refusal('profile.mjs list | check | get | facts | config | survived | overlay');
  }
}

try {
  process.stdout.write(main(process.argv.slice(2)) ?? '');
} catch (e) {
  if (!(e instanceof Refusal)) throw e;
  process.stderr.write(`${e.message}\n`);
  process.exitCode = 1;
}
