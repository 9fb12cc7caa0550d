// SPDX-License-Identifier: GPL-2.0-or-later
// Makes src/lib/api/types.ts from the daemon's JSON Schemas; with --check it only says whether
// the committed file is what they would give.
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { compile } from 'json-schema-to-typescript';

const schemas = new URL('../../feeds/fastpathd/src/schema/', import.meta.url);
const target = new URL('../src/lib/api/types.ts', import.meta.url);
const banner = `// SPDX-License-Identifier: GPL-2.0-or-later
// Made by \`npm run types\` from feeds/fastpathd/src/schema. Do not edit.
`;

/** The $id of the shared types becomes a local reference: all schemas are compiled as one. */
function localise(schema) {
  return JSON.parse(JSON.stringify(schema).replaceAll('"types.json#', '"#'));
}

async function readSchema(name) {
  return localise(JSON.parse(await readFile(new URL(name, schemas), 'utf8')));
}

async function generate() {
  const names = (await readdir(schemas)).filter((name) => name.endsWith('.json')).sort();
  const shared = await readSchema('types.json');
  const methods = {};
  for (const name of names.filter((each) => each !== 'types.json')) {
    const schema = await readSchema(name);
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
    title: 'FastpathApi',
    description: 'What each method of the ubus object `fastpath` takes and answers.',
    type: 'object',
    properties: methods,
    required: Object.keys(methods),
    additionalProperties: false,
    $defs: shared.$defs,
  };
  return compile(root, 'FastpathApi', {
    bannerComment: banner,
    additionalProperties: false,
    unreachableDefinitions: true,
    maxItems: 0,
    style: { singleQuote: true, printWidth: 100 },
  });
}

const wanted = await generate();
if (process.argv.includes('--check')) {
  const found = await readFile(target, 'utf8').catch(() => '');
  if (found !== wanted) {
    console.error('src/lib/api/types.ts is not what the schemas give: run `npm run types`');
    process.exit(1);
  }
  console.log('src/lib/api/types.ts agrees with the schemas');
} else {
  await writeFile(target, wanted);
}
