// SPDX-License-Identifier: GPL-2.0-or-later
// sign.mjs KEYRING FILE: adds a usign key to KEYRING/usign and signs FILE as FILE.sig.
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const [keyring, file] = process.argv.slice(2);
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const number = randomBytes(8);
const text = (comment, contents) => {
  const bytes = Buffer.concat([Buffer.from('Ed'), number, contents]);
  return `untrusted comment: ${comment}\n${bytes.toString('base64')}\n`;
};
const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
mkdirSync(`${keyring}/usign`, { recursive: true });
writeFileSync(`${keyring}/usign/${number.toString('hex')}`, text('a test', raw));
writeFileSync(`${file}.sig`, text('signed by a test', sign(null, readFileSync(file), privateKey)));
