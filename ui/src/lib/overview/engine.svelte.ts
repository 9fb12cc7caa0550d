// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from '../api/errors';
import type { Engine } from '../api/types';
import { t } from '../i18n/t';
import type { App } from '../shell/app.svelte';

export const engines: readonly Engine[] = ['off', 'flowtable', 'flowtable-hw', 'ebpf'];

export function engineName(engine: Engine): string {
  return t(`engine.${engine}`);
}

/** Switching the engine: the choice, and its result. */
export class EngineChoice {
  /** The engine asked for, while the router has not answered. */
  asked = $state<Engine | null>(null);
  outcome = $state('');
  failed = $state(false);

  constructor(private readonly app: Pick<App, 'api' | 'live'>) {}

  async choose(engine: Engine): Promise<void> {
    this.asked = engine;
    this.failed = false;
    this.outcome = t('engine.busy', { engine: engineName(engine) });
    try {
      const state = await this.app.api.call('engine', { set: engine });
      this.app.live.engineChanged(state);
      this.failed = state.active !== engine;
      this.outcome = this.failed
        ? t('engine.failed', { text: state.why })
        : t('engine.done', { engine: engineName(engine) });
    } catch (fault) {
      this.failed = true;
      this.outcome = refusal(fault);
      this.app.live.report(fault);
    } finally {
      this.asked = null;
    }
  }
}

function refusal(fault: unknown): string {
  if (!(fault instanceof Fault)) throw fault;
  return fault.kind === 'denied' ? t('engine.denied') : t('engine.failed', { text: fault.message });
}
