// SPDX-License-Identifier: GPL-2.0-or-later
// usign.mjs MESSAGE SIGNATURE FOLDER: verifies a signature with a key in FOLDER/usign. Format of
// signify: base64 of "Ed", an eight-byte key number, and the Ed25519 signature or key. The file
// name of a key is its number.
import { createPublicKey, verify } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** DER prefix of an Ed25519 public key (RFC 8410). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

function refuse(why) {
  console.error(why);
  process.exit(1);
}

function read(file, size) {
  const [comment = '', line = ''] = readFileSync(file, 'utf8').split('\n');
  const bytes = Buffer.from(line, 'base64');
  if (!comment.startsWith('untrusted comment: ') || bytes.length !== 10 + size) {
    refuse(`${file} is not a ${size === 64 ? 'signature' : 'key'} of usign`);
  }
  if (bytes.toString('latin1', 0, 2) !== 'Ed') refuse(`${file} is not of Ed25519`);
  return {
    comment: comment.slice(19),
    number: bytes.toString('hex', 2, 10),
    contents: bytes.subarray(10),
  };
}

const [message, signature, folder] = process.argv.slice(2);
const signed = read(signature, 64);
const file = join(folder, 'usign', signed.number);
if (!existsSync(file)) {
  refuse(`signed by key ${signed.number}, which is not in the pinned keyring`);
}
const known = read(file, 32);
if (known.number !== signed.number) refuse(`${file} is key ${known.number}`);
const key = createPublicKey({
  key: Buffer.concat([SPKI, known.contents]),
  format: 'der',
  type: 'spki',
});
if (!verify(null, readFileSync(message), key, signed.contents)) {
  refuse(`the signature of ${message} by key ${signed.number} is wrong`);
}
console.log(`${known.number} (${known.comment})`);
