// SPDX-License-Identifier: GPL-2.0-or-later
/** Choice of the eBPF hook, kept only if programs are attached there within 20 s. */

import type { EbpfDevice, EbpfState } from '../api/types';
import { reason } from '../cause/cause';
import type { Change } from '../form/change.svelte';
import { defaultOf } from '../form/defaults';
import { judgement } from '../form/messages';
import { text, type Section } from '../form/sections';
import { Command } from '../live/command.svelte';
import type { Live } from '../live/live.svelte';
import { until } from '../live/pause';
import { e } from './messages';

/** Values of the configuration's option `hook`. */
export const hookSettings = ['auto', 'tcx', 'clsact', 'xdp-generic'] as const;
export type HookSetting = (typeof hookSettings)[number];

/** Deadline for programs to move; after a longer time rpcd rolls the change back itself. */
const DEADLINE_MS = 20_000;

export function hookName(setting: HookSetting): string {
  return e(setting === 'auto' ? 'choice.auto' : setting);
}

/** Reports whether programs are at the configured hook. A port without that hook has no program. */
export function fits(devices: readonly EbpfDevice[], setting: HookSetting): boolean {
  const here = ({ hook }: EbpfDevice) =>
    setting === 'auto' ? hook !== '' && hook !== 'xdp-generic' : hook === setting;
  return devices.some(here) && devices.every((each) => each.hook === '' || here(each));
}

/**
 * Switches the eBPF hook by a change of the configuration, which is confirmed only once programs
 * are attached there; a hook that no port accepts is rolled back.
 */
export class HookChoice extends Command {
  /** The configured hook; `null` while it is unknown. */
  configured = $state<HookSetting | null>(null);

  constructor(
    private readonly change: Change,
    live: Pick<Live, 'report'>,
    /** Requests the loaded programs. */
    private readonly ebpf: () => Promise<EbpfState>,
  ) {
    super(live, ({ kind, message }) =>
      e('choice.undone', { text: kind === 'denied' ? e('choice.denied') : message }),
    );
  }

  async read(signal?: AbortSignal): Promise<void> {
    const hook = text(await this.main(signal), 'hook', defaultOf('fastpath', 'hook'));
    if (!this.busy) this.configured = hookSettings.find((each) => each === hook) ?? 'auto';
  }

  async choose(setting: HookSetting): Promise<void> {
    await this.run(e('choice.busy'), async () => {
      const refused = await this.move(setting);
      this.failed = refused !== '';
      if (refused) return e('choice.undone', { text: refused });
      this.configured = setting;
      return e('choice.done', { hook: hookName(setting) });
    });
  }

  /** Returns why the change was rolled back; empty if it was kept. */
  private async move(setting: HookSetting): Promise<string> {
    const { change } = this;
    const section = (await this.main())?.section ?? '';
    let devices: readonly EbpfDevice[] = [];
    const proof = async () => {
      devices = (await this.ebpf().catch(() => null))?.devices ?? devices;
      return fits(devices, setting);
    };
    const edit = { config: 'fastpath', op: 'set' as const, section, values: { hook: setting } };
    await change.apply({ edits: [edit] }, {}, '', { proof });
    const ended = await until(() => Promise.resolve(change.pending === null), DEADLINE_MS);
    if (!ended) await change.revert();
    if (change.outcome === 'kept') return '';
    const [refused] = change.refused;
    if (refused) return judgement('problem', refused);
    const bare = devices.find((each) => each.hook === '');
    return bare ? `${bare.device}: ${reason('ebpf', bare)}` : e('choice.silent');
  }

  private async main(signal?: AbortSignal): Promise<Section | undefined> {
    const reply = await this.change.router.ask('get', { configs: ['fastpath'] }, signal);
    const { fastpath = [] } = reply['configs'] as Record<string, Section[]>;
    return fastpath.find(({ type }) => type === 'fastpath');
  }
}
