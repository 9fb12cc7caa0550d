#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a reproducible bill of materials as CycloneDX 1.6:
//   sbom.mjs --crates DIR --page DIR --maps DIR --version V --epoch S --profile P \
//            [--archive FILE]… [--openwrt FILE] --out FILE
// --crates is the folder of Cargo.lock, --page of package-lock.json, --maps of the page's source
// maps; --archive is a file of the bundle; --openwrt is OpenWrt's bill of its image.
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { bundled, crates, packages } from './inventory.mjs';
import { parse } from './spdx.mjs';

const TEXT = { type: 'string' };
const { values: options } = parseArgs({
  options: {
    crates: TEXT,
    page: TEXT,
    maps: TEXT,
    version: TEXT,
    epoch: TEXT,
    profile: TEXT,
    openwrt: TEXT,
    out: TEXT,
    archive: { ...TEXT, multiple: true },
  },
});
const OWN_LICENCE = 'GPL-2.0-or-later';

const quoted = (name) => name.split('/').map(encodeURIComponent).join('/');

function licences(text) {
  try {
    return typeof parse(text) === 'string' && !text.includes(' ')
      ? [{ license: { id: text } }]
      : [{ expression: text }];
  } catch {
    return [{ license: { name: text || 'NOASSERTION' } }];
  }
}

function component({ kind, name, version, licence, use, own, description, hash }) {
  const place = own ? 'generic/fastpath' : kind;
  const purl = `pkg:${place}/${quoted(name)}@${encodeURIComponent(version)}`;
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    ...(description && { description }),
    scope: ['linked', 'font'].includes(use) ? 'required' : 'excluded',
    ...(hash && { hashes: [hash] }),
    licenses: licences(licence),
    purl,
    properties: [{ name: 'fastpath:use', value: use }],
  };
}

function archive(file) {
  const name = basename(file);
  const content = createHash('sha256').update(readFileSync(file)).digest('hex');
  return {
    type: 'file',
    'bom-ref': `file:${name}`,
    name,
    version: options.version,
    scope: 'required',
    hashes: [{ alg: 'SHA-256', content }],
    licenses: licences(OWN_LICENCE),
    properties: [{ name: 'fastpath:use', value: 'source' }],
  };
}

/** Returns the components of OpenWrt's bill, without fields that change in each run. */
function openwrt(file) {
  const { components = [] } = JSON.parse(readFileSync(file, 'utf8'));
  return components.map((part) => {
    const purl = `pkg:generic/openwrt/${quoted(part.name)}@${encodeURIComponent(part.version)}`;
    return {
      ...part,
      'bom-ref': purl,
      purl,
      properties: [{ name: 'fastpath:use', value: 'image' }],
    };
  });
}

/** Removes duplicates: a lock file may list a package several times. */
function unique(components) {
  const by = new Map();
  for (const part of components) {
    const before = by.get(part['bom-ref']);
    if (!before || before.scope === 'excluded') by.set(part['bom-ref'], part);
  }
  return [...by.values()].sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
}

function serial(bill) {
  const hex = createHash('sha256').update(JSON.stringify(bill)).digest('hex');
  const variant = ((parseInt(hex[16], 16) & 3) | 8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`];
  return `urn:uuid:${[...parts, variant + hex.slice(17, 20), hex.slice(20, 32)].join('-')}`;
}

function bill() {
  const root = `pkg:generic/fastpath@${options.version}`;
  const inventory = [
    ...crates(options.crates),
    ...packages(options.page, bundled(options.maps)),
  ];
  const components = unique([
    ...inventory.map(component),
    ...(options.archive ?? []).map(archive),
    ...(options.openwrt ? openwrt(options.openwrt) : []),
  ]);
  return {
    metadata: {
      timestamp: new Date(Number(options.epoch) * 1000).toISOString().replace('.000', ''),
      component: {
        type: 'firmware',
        'bom-ref': root,
        name: 'fastpath',
        version: options.version,
        licenses: licences(OWN_LICENCE),
        purl: root,
        properties: [{ name: 'fastpath:profile', value: options.profile }],
      },
    },
    components,
    dependencies: [
      {
        ref: root,
        dependsOn: components.filter(({ scope }) => scope !== 'excluded').map((c) => c['bom-ref']),
      },
    ],
  };
}

const body = bill();
const head = { bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber: serial(body), version: 1 };
writeFileSync(`${options.out}.new`, `${JSON.stringify({ ...head, ...body }, null, 1)}\n`);
renameSync(`${options.out}.new`, options.out);
