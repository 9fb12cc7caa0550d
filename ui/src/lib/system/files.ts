// SPDX-License-Identifier: GPL-2.0-or-later

import { Fault } from '../api/errors';

/** Path of OpenWrt's cgi-io programs, which uhttpd runs. */
const CGI = '/cgi-bin';

/** Timeout; a firmware image takes minutes over a slow connection. */
const LIMIT_MS = 10 * 60_000;

async function asked(program: string, body: BodyInit): Promise<Response> {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const url = `${CGI}/${program}`;
  const answer = await fetch(url, { method: 'POST', body, signal, cache: 'no-store' }).catch(
    (cause: unknown) => {
      throw new Fault('unreachable', `${program}: no answer`, { cause });
    },
  );
  if (answer.status === 403) throw new Fault('denied', `${program}: not allowed`);
  if (answer.status === 404) throw new Fault('absent', `${program}: package cgi-io is missing`);
  if (!answer.ok) throw new Fault('failed', `${program}: HTTP ${answer.status}`);
  return answer;
}

export async function backup(session: string): Promise<Blob> {
  return (await asked('cgi-backup', new URLSearchParams({ sessionid: session }))).blob();
}

export async function upload(session: string, path: string, file: Blob): Promise<void> {
  const form = new FormData();
  form.append('sessionid', session);
  form.append('filename', path);
  form.append('filedata', file);
  const said = (await (await asked('cgi-upload', form)).json()) as {
    failure?: unknown;
    message?: string;
    size?: number;
  };
  if (said.failure !== undefined) throw new Fault('failed', said.message ?? 'upload rejected');
  if (said.size !== file.size)
    throw new Fault('failed', `${said.size} of ${file.size} bytes received`);
}

export function save(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
