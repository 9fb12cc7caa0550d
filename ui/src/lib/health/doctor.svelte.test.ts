// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import type { App } from '../shell/app.svelte';
import { doctorOf } from './doctor.svelte';

const reply = (at_ms: number) => ({ ok: true, at_ms, took_ms: 1, findings: [] });

it('a report requested before a run does not replace the report of the run', async () => {
  let answerLast: (report: object) => void = () => undefined;
  const request = (_: string, method: string) =>
    method === 'run' ? Promise.resolve(reply(2)) : new Promise((resolve) => (answerLast = resolve));
  const doctor = doctorOf({ ubus: { session: 'one' }, api: { request } } as unknown as App);
  const older = doctor.load();
  await doctor.run();
  answerLast(reply(1));
  await older;
  expect(doctor.report?.at_ms).toBe(2);
  const newer = doctor.load();
  answerLast(reply(3));
  await newer;
  expect(doctor.report?.at_ms).toBe(3);
});
