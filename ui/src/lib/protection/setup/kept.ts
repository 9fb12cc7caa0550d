// SPDX-License-Identifier: GPL-2.0-or-later
import type { App } from '../../shell/app.svelte';
import { Configuration } from '../../uci/configuration';
import { Draft } from './draft.svelte';

let kept: { session: string; draft: Draft } | null = null;

/** The draft of this session: looking at another screen does not lose what was edited. */
export function draftOf(app: App): Draft {
  const { session } = app.ubus;
  if (kept?.session !== session || kept.draft.changes.length === 0) {
    const router = {
      ips: () => app.api.call('ips', {}),
      health: () => app.live.status?.health ?? [],
    };
    kept = { session, draft: new Draft(new Configuration(app.api), router) };
  }
  return kept.draft;
}
