// SPDX-License-Identifier: GPL-2.0-or-later
// bom.mjs SECONDS PARTS FILE…: makes OpenWrt's bills of materials reproducible, with the date of
// the sources and a UUID derived from the contents. PARTS lists our packages, one per line: name,
// version, licence and CPE, separated by tabs. They replace packages of the same name.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

const [seconds, parts, ...files] = process.argv.slice(2);

const own = readFileSync(parts, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => {
    const [name, version, licence, cpe] = line.split('\t');
    const part = { type: 'application', name, version, licenses: [{ license: { name: licence } }] };
    return cpe ? { ...part, cpe: `${cpe}:${version}` } : part;
  });
const names = new Set(own.map(({ name }) => name));

for (const file of files) {
  const bom = JSON.parse(readFileSync(file, 'utf8'));
  bom.metadata = { ...bom.metadata, timestamp: new Date(Number(seconds) * 1000).toISOString() };
  delete bom.serialNumber;
  if (own.length > 0) {
    const others = (bom.components ?? []).filter(({ name }) => !names.has(name));
    bom.components = [...others, ...own];
  }
  const hash = createHash('sha256').update(JSON.stringify(bom)).digest('hex');
  const groups = [hash.slice(0, 8), hash.slice(8, 12), `5${hash.slice(13, 16)}`];
  const uuid = [...groups, `8${hash.slice(17, 20)}`, hash.slice(20, 32)].join('-');
  const { bomFormat, specVersion, ...rest } = bom;
  const whole = { bomFormat, specVersion, serialNumber: `urn:uuid:${uuid}`, ...rest };
  writeFileSync(file, `${JSON.stringify(whole, null, 2)}\n`);
}
