// SPDX-License-Identifier: GPL-2.0-or-later
// bom.mjs SECONDS FILE…: OpenWrt's bills of materials with a date and a number that the next build
// of the same sources gives, too: the sources' date, and a UUID made of the contents.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

const [seconds, ...files] = process.argv.slice(2);
for (const file of files) {
  const bom = JSON.parse(readFileSync(file, 'utf8'));
  bom.metadata = { ...bom.metadata, timestamp: new Date(Number(seconds) * 1000).toISOString() };
  delete bom.serialNumber;
  const hash = createHash('sha256').update(JSON.stringify(bom)).digest('hex');
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `5${hash.slice(13, 16)}`];
  const uuid = [...parts, `8${hash.slice(17, 20)}`, hash.slice(20, 32)].join('-');
  const { bomFormat, specVersion, ...rest } = bom;
  const whole = { bomFormat, specVersion, serialNumber: `urn:uuid:${uuid}`, ...rest };
  writeFileSync(file, `${JSON.stringify(whole, null, 2)}\n`);
}
