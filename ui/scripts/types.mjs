// SPDX-License-Identifier: GPL-2.0-or-later
// Generates src/lib/api/types*.ts from the daemon's JSON Schemas before each build and check.
// Unchanged files are not written, which would trigger a rebuild.
import { readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { compile } from 'json-schema-to-typescript';

const schemas = new URL('../../feeds/fastpathd/src/schema/', import.meta.url);
/** ubus objects: schema folder, bus name, and the type and file to generate. */
const objects = [
  { folder: '', object: 'fastpath', title: 'FastpathApi', file: 'types.ts' },
  { folder: 'change/', object: 'fastpath.change', title: 'ChangeApi', file: 'types-change.ts' },
  {
    folder: 'wireless/',
    object: 'fastpath.wireless',
    title: 'WirelessApi',
    file: 'types-wireless.ts',
  },
];
const banner = `// SPDX-License-Identifier: GPL-2.0-or-later
// Made by \`npm run types\` from feeds/fastpathd/src/schema. Do not edit.
`;

/** Makes references to the shared types local, because all schemas are compiled as one. */
function localise(schema) {
  return JSON.parse(JSON.stringify(schema).replaceAll('"types.json#', '"#'));
}

async function readSchema(name, folder) {
  return localise(JSON.parse(await readFile(new URL(name, folder), 'utf8')));
}

async function generate({ folder: path, object, title }) {
  const folder = new URL(path, schemas);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort();
  const shared = await readSchema('types.json', folder);
  const methods = {};
  for (const name of names.filter((each) => each !== 'types.json')) {
    const schema = await readSchema(name, folder);
    const { request, reply } = schema.properties;
    const parts = { request: request ?? { type: 'object', additionalProperties: false }, reply };
    methods[schema.title] = {
      description: schema.description,
      type: 'object',
      properties: parts,
      required: Object.keys(parts),
      additionalProperties: false,
    };
  }
  const root = {
    title,
    description: `Arguments and answers of each method of the ubus object \`${object}\`.`,
    type: 'object',
    properties: methods,
    required: Object.keys(methods),
    additionalProperties: false,
    $defs: shared.$defs,
  };
  return compile(root, title, {
    bannerComment: banner,
    additionalProperties: false,
    maxItems: 0,
    style: { singleQuote: true, printWidth: 100 },
  });
}

for (const each of objects) {
  const target = new URL(`../src/lib/api/${each.file}`, import.meta.url);
  const wanted = await generate(each);
  if ((await readFile(target, 'utf8').catch(() => '')) === wanted) continue;
  // Replaces the file atomically, because another check may read it.
  const made = new URL(`${target}.${process.pid}`);
  await writeFile(made, wanted);
  await rename(made, target);
}
