// SPDX-License-Identifier: GPL-2.0-or-later
// answer.mjs FOLDER OBJECT METHOD <ANSWER: fails unless the answer matches the schema.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv/dist/2020.js';

const [folder, object, method] = process.argv.slice(2);
const ajv = new Ajv({ strict: false, allErrors: true });
for (const file of readdirSync(join(folder, object))) {
  ajv.addSchema(JSON.parse(readFileSync(join(folder, object, file), 'utf8')));
}
const validate = ajv.compile({ $ref: `${object}/${method}.json#/properties/reply` });
if (!validate(JSON.parse(readFileSync(0, 'utf8')))) {
  console.log(`${object} ${method}: ${ajv.errorsText(validate.errors)}`);
  process.exit(1);
}
