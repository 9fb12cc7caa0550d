// SPDX-License-Identifier: GPL-2.0-or-later
import type { Fastpath } from '../api/fastpath';
import { answerOf } from '../form/change.svelte';
import type { Report } from '../health/report';

export async function lacksPassword(api: Pick<Fastpath, 'request'>, user: string) {
  const args = { checks: ['system-password'], sample_ms: 0 };
  const reply = await api.request('fastpath.doctor', 'run', args);
  const { findings } = answerOf(reply) as unknown as Report;
  const facts = findings.flatMap(({ evidence }) => evidence);
  return facts.some(({ code, params }) => code === 'empty' && params.of === user);
}
