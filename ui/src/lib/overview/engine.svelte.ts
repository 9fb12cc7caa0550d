// SPDX-License-Identifier: GPL-2.0-or-later

import type { Fault } from '../api/errors';
import type { Engine } from '../api/types';
import { reason } from '../cause/cause';
import { t } from '../i18n/t';
import { Command } from '../live/command.svelte';
import type { App } from '../shell/app.svelte';

export const engines: readonly Engine[] = ['off', 'flowtable', 'flowtable-hw', 'ebpf'];

export function engineName(engine: Engine): string {
  return t(`engine.${engine}`);
}

export class EngineChoice extends Command {
  /** The requested engine while the router is switching; `null` otherwise. */
  asked = $state<Engine | null>(null);

  constructor(private readonly app: Pick<App, 'api' | 'live'>) {
    super(app.live, refusal);
  }

  async choose(engine: Engine): Promise<void> {
    this.asked = engine;
    const busy = t('engine.busy', { engine: engineName(engine) });
    const set = async () => {
      const state = await this.app.api.call('engine', { set: engine });
      this.app.live.engineChanged(state);
      this.failed = state.active !== engine;
      if (this.failed) return t('engine.failed', { text: reason('engine', state) });
      return t('engine.done', { engine: engineName(engine) });
    };
    await this.run(busy, set).finally(() => (this.asked = null));
  }
}

function refusal(fault: Fault): string {
  return fault.kind === 'denied' ? t('engine.denied') : t('engine.failed', { text: fault.message });
}
