// SPDX-License-Identifier: GPL-2.0-or-later

import { draftOf } from '../form/opened.svelte';
import { answerOf } from '../form/change.svelte';
import { Command } from '../live/command.svelte';
import type { App } from '../shell/app.svelte';
import { d } from './messages';

/** A device, or all devices of a group. */
export type Target = { mac: string } | { group: string };

export interface Owner {
  name: string;
  kind: string;
  group: string;
  inspect: string;
  quota_mb: number;
}

/** Verbs of `fastpath.device`, which take effect at once, without a review. */
export class Verbs extends Command {
  constructor(
    private readonly app: App,
    /** Requests the devices again. */
    private readonly reread: () => Promise<void>,
  ) {
    super(app.live, ({ message }) => d('refused', { text: message }));
  }

  /** Sets name, kind, group and inspection; an empty text removes the option. */
  set(mac: string, changed: Partial<Owner>): Promise<void> {
    const { api } = this.app;
    return this.perform(d('saved'), () =>
      api.request('fastpath.device', 'set', { mac, ...changed }),
    );
  }

  /** Limits the rates to and from a device in kbit/s; 0 for no limit. */
  limit(mac: string, down: number, up: number): Promise<void> {
    const { api } = this.app;
    return this.perform(d('saved'), () =>
      api.request('fastpath.device', 'limit', { mac, down, up }),
    );
  }

  /** @param until_s Unix time of the end; 0 without an end */
  pause(target: Target, until_s: number, outcome: string): Promise<void> {
    const { api } = this.app;
    const args = { ...target, until_s };
    return this.perform(outcome, () => api.request('fastpath.device', 'pause', args));
  }

  resume(target: Target): Promise<void> {
    const { api } = this.app;
    return this.perform(d('resumed'), () => api.request('fastpath.device', 'resume', target));
  }

  forget(mac: string): Promise<void> {
    const { api } = this.app;
    return this.perform(d('forgotten'), () => api.request('fastpath.device', 'forget', { mac }));
  }

  private perform(outcome: string, call: () => Promise<Record<string, unknown>>): Promise<void> {
    return this.run('', async () => {
      answerOf(await call());
      await Promise.all([this.reread(), this.reload()]).catch((fault: unknown) =>
        this.app.live.report(fault),
      );
      return outcome;
    });
  }

  /** Reloads the file that the router has changed, unless the draft has edits of it. */
  private async reload(): Promise<void> {
    const draft = draftOf(this.app);
    const loaded = draft.configs.includes('fastpath');
    if (loaded && !draft.edited('fastpath')) await draft.load(['fastpath']);
  }
}
