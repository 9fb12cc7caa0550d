// SPDX-License-Identifier: GPL-2.0-or-later
import type { EbpfDevice, EbpfState } from '../api/types';
import { reason } from '../cause/cause';
import type { Change } from '../form/change.svelte';
import { defaultOf } from '../form/defaults';
import { text, type Section } from '../form/sections';
import { Command } from '../live/command.svelte';
import type { Live } from '../live/live.svelte';
import { until } from '../live/pause';
import { e } from './messages';

/** What the option `hook` of the configuration may say. */
export const wishes = ['auto', 'tcx', 'clsact', 'xdp-generic'] as const;
export type Wish = (typeof wishes)[number];

/** Until programs have moved; rpcd takes the change back after longer by itself. */
const DEADLINE_MS = 20_000;

export function wishName(wish: Wish): string {
  return e(wish === 'auto' ? 'wish.auto' : wish);
}

/** Whether programs are where they were wished; a port that takes none there has none. */
export function fits(devices: readonly EbpfDevice[], wish: Wish): boolean {
  const here = ({ hook }: EbpfDevice) =>
    wish === 'auto' ? hook !== '' && hook !== 'xdp-generic' : hook === wish;
  return devices.some(here) && devices.every((each) => each.hook === '' || here(each));
}

/**
 * Switching the eBPF hook: a change of the configuration, which is confirmed only when the programs
 * are attached there; a hook that no port accepts is rolled back.
 */
export class HookChoice extends Command {
  /** As configured; null while that is unknown. */
  wished = $state<Wish | null>(null);

  constructor(
    private readonly change: Change,
    live: Pick<Live, 'report'>,
    /** Asks what programs there are. */
    private readonly ebpf: () => Promise<EbpfState>,
  ) {
    super(live, ({ kind, message }) =>
      e('wish.undone', { text: kind === 'denied' ? e('wish.denied') : message }),
    );
  }

  async read(signal?: AbortSignal): Promise<void> {
    const hook = text(await this.main(signal), 'hook', defaultOf('fastpath', 'hook'));
    if (!this.busy) this.wished = wishes.find((each) => each === hook) ?? 'auto';
  }

  async choose(wish: Wish): Promise<void> {
    await this.run(e('wish.busy'), async () => {
      const refused = await this.move(wish);
      this.failed = refused !== '';
      if (refused) return e('wish.undone', { text: refused });
      this.wished = wish;
      return e('wish.done', { hook: wishName(wish) });
    });
  }

  /** Answers why it was reverted; empty: it stays. */
  private async move(wish: Wish): Promise<string> {
    const { change } = this;
    const section = (await this.main())?.section ?? '';
    let devices: readonly EbpfDevice[] = [];
    const proof = async () => {
      devices = (await this.ebpf().catch(() => null))?.devices ?? devices;
      return fits(devices, wish);
    };
    const edit = { config: 'fastpath', op: 'set' as const, section, values: { hook: wish } };
    await change.apply({ edits: [edit] }, {}, '', { proof });
    const ended = await until(() => Promise.resolve(change.pending === null), DEADLINE_MS);
    if (!ended) await change.revert();
    if (change.outcome === 'kept') return '';
    const [refused] = change.refused;
    if (refused) return refused.text;
    const bare = devices.find((each) => each.hook === '');
    return bare ? `${bare.device}: ${reason('ebpf', bare)}` : e('wish.silent');
  }

  private async main(signal?: AbortSignal): Promise<Section | undefined> {
    const reply = await this.change.router.ask('get', { configs: ['fastpath'] }, signal);
    const { fastpath = [] } = reply['configs'] as Record<string, Section[]>;
    return fastpath.find(({ type }) => type === 'fastpath');
  }
}
