#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-or-later
// licences.mjs SBOM: fails if a licence does not fit the use of its part, see spdx.mjs.
import { readFileSync } from 'node:fs';
import { refusal } from './spdx.mjs';

const text = ({ licenses = [] }) =>
  licenses.map((l) => l.expression ?? l.license?.id ?? l.license?.name ?? '').join(' AND ');
const use = ({ properties = [] }) =>
  properties.find(({ name }) => name === 'fastpath:use')?.value ?? 'linked';

const { components } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const ours = components.filter((part) => use(part) !== 'image');
const refused = ours.flatMap((part) => {
  const licence = text(part);
  const why = refusal(licence === 'NOASSERTION' ? '' : licence, use(part));
  return why ? [`${part.purl ?? part.name} (${use(part)}): ${why}`] : [];
});
if (refused.length > 0) {
  console.error(`licences that may not be there:\n  ${refused.join('\n  ')}
Choose another package, or, where the licence does fit, add it to profiles/sources/spdx.mjs with
the reason.`);
  process.exit(1);
}
const linked = ours.filter((part) => use(part) === 'linked').length;
console.log(`${ours.length} licences, ${linked} of them linked: all go with GPL-2.0`);
