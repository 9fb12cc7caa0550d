// SPDX-License-Identifier: GPL-2.0-or-later
// document.mjs FILE TABLE GATEWAY OURS SHOWN [renew]: compares facts from stdin with the table in
// FILE between `<!-- access TABLE -->` and `<!-- /access -->`, or rewrites the table.
//
// A fact is `subject TAB item TAB result…`. Table rows group the items of a subject with equal
// results. Facts with only `no` are omitted unless OURS or SHOWN matches the subject.
// With GATEWAY `openwrt`, facts and table must be equal. With `lab`, which lacks some programs,
// other subjects than OURS may be missing or have fewer rights. A table marked `<!-- access TABLE
// openwrt -->` was generated on OpenWrt; an unmarked table must always be equal.

import { readFileSync, writeFileSync } from 'node:fs';

const SKIP = 77;
const [file, table, gateway, own, display, renew] = process.argv.slice(2);
const exact = gateway === 'openwrt';
const ours = new RegExp(`^(?:${own})`);
const shown = new RegExp(`^(?:${display})`);

const text = readFileSync(file, 'utf8');
const [open, mark] = new RegExp(`<!-- access ${table}( openwrt)? -->\n`).exec(text) ?? [];
if (open === undefined) throw new Error(`${file} has no table ${table}`);
const start = text.indexOf(open);
const body = start + open.length;
const end = text.indexOf('<!-- /access -->', body);
const lines = text.slice(body, end).trim().split('\n');
const titles = cells(lines[0]);

function cells(line) {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

const listed = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
const key = (subject, item) => `${subject}\t${item}`;
const refused = (results) => results.every((result) => result === 'no');

const said = new Map();
for (const line of lines.slice(2)) {
  const [subject, items, ...results] = cells(line);
  for (const item of listed(items)) said.set(key(listed(subject)[0], item), results);
}

const seen = new Map();
for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const [subject, item, ...results] = line.split('\t');
  if (results.length + 2 !== titles.length) throw new Error(`not a row of ${table}: ${line}`);
  seen.set(key(subject, item), results);
}
if (seen.size === 0) throw new Error(`no facts for ${table}`);

/** Returns whether `more` includes all rights in `less`. */
function within(less, more) {
  const rights = (result) => (result === 'no' ? [] : result.replace('asked', 'yes').split(', '));
  return less.every((result, at) => {
    const granted = rights(more[at]);
    return rights(result).every((right) => granted.includes(right));
  });
}

const isOurs = (id) => ours.test(id.split('\t')[0]);
const isShown = (id) => shown.test(id.split('\t')[0]);
const none = titles.slice(2).map(() => 'no');

function differences() {
  const found = [];
  let absent = 0;
  for (const id of new Set([...seen.keys(), ...said.keys()])) {
    const got = seen.get(id);
    // Unmarked tables were generated in the lab, so their rights must be equal.
    const alike = mark === undefined && got !== undefined && said.has(id);
    const strict = exact || isOurs(id) || alike;
    const wanted = said.get(id) ?? (isOurs(id) ? undefined : none);
    if (got === undefined) {
      if (strict) found.push([id, 'is not there', wanted]);
      else absent += 1;
    } else if (wanted === undefined) {
      found.push([id, got.join(' '), ['nothing']]);
    } else if (strict ? got.join() !== wanted.join() : !within(got, wanted)) {
      found.push([id, got.join(' '), wanted]);
    }
  }
  for (const [id, got, wanted] of found) {
    const [subject, item] = id.split('\t');
    console.log(`${table}: ${subject} ${item}: ${got}; in the document: ${wanted.join(' ')}`);
  }
  if (absent > 0) {
    console.log(`note: ${absent} rows of ${table} need OpenWrt's own userland (lab --root)`);
  }
  return found.length;
}

/** Returns the table's rows. In the lab, keeps OpenWrt's rows of foreign objects. */
function rows() {
  const kept = [...said].filter(([id]) => mark !== undefined && !exact && !isOurs(id));
  const fresh = [...seen].filter(
    ([id, results]) =>
      isOurs(id) || (!refused(results) && !kept.some(([other]) => other === id)) || isShown(id),
  );
  const grouped = new Map();
  for (const [id, results] of new Map([...fresh, ...kept])) {
    const [subject, item] = id.split('\t');
    const row = [subject, ...results].join('\t');
    grouped.set(row, [...(grouped.get(row) ?? []), item]);
  }
  return grouped;
}

function renewed() {
  const rank = ([row]) => `${isOurs(row) ? 0 : 1}${row}`;
  return [...rows()]
    .sort((one, two) => (rank(one) < rank(two) ? -1 : 1))
    .map(([row, items]) => {
      const [subject, ...results] = row.split('\t');
      const names = items.sort().map((item) => `\`${item}\``);
      return `| \`${subject}\` | ${names.join(', ')} | ${results.join(' | ')} |`;
    });
}

if (renew) {
  const head = `<!-- access ${table}${exact ? ' openwrt' : (mark ?? '')} -->`;
  const written = [head, lines[0], lines[1], ...renewed(), ''].join('\n');
  writeFileSync(file, text.slice(0, start) + written + text.slice(end));
} else if (exact && mark === undefined) {
  console.log(`skipped: table ${table} has not been renewed on OpenWrt's userland`);
  process.exitCode = SKIP;
} else {
  process.exitCode = differences() > 0 ? 1 : 0;
}
