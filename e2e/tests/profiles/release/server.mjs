// SPDX-License-Identifier: GPL-2.0-or-later
// server.mjs FOLDER [CUT]: serves FOLDER; prints its port, then each request with its range.
// Truncates answers from byte 0 to CUT bytes.
import { readFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const [folder, cut] = process.argv.slice(2);
createServer((request, response) => {
  const { range = '' } = request.headers;
  console.log(`${request.url} ${range}`.trim());
  const file = join(folder, request.url);
  if (!existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  const all = readFileSync(file);
  const from = Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0);
  const headers = { 'Content-Length': all.length - from, 'Accept-Ranges': 'bytes' };
  if (from > 0) headers['Content-Range'] = `bytes ${from}-${all.length - 1}/${all.length}`;
  response.writeHead(from > 0 ? 206 : 200, headers);
  if (from === 0 && all.length > Number(cut ?? Infinity)) {
    response.write(all.subarray(0, Number(cut)), () => response.destroy());
  } else {
    response.end(all.subarray(from));
  }
}).listen(0, '127.0.0.1', function () {
  console.log(this.address().port);
});
