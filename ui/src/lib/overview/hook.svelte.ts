// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from '../api/errors';
import type { EbpfDevice, EbpfState } from '../api/types';
import type { Change } from '../form/change.svelte';
import { defaultOf } from '../form/defaults';
import { text, type Section } from '../form/sections';
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
export class HookChoice {
  /** As configured; null while that is unknown. */
  wished = $state<Wish | null>(null);
  busy = $state(false);
  outcome = $state('');
  failed = $state(false);

  constructor(
    private readonly change: Change,
    /** Asks what programs there are. */
    private readonly ebpf: () => Promise<EbpfState>,
  ) {}

  async read(signal?: AbortSignal): Promise<void> {
    const hook = text(await this.main(signal), 'hook', defaultOf('fastpath', 'hook'));
    if (!this.busy) this.wished = wishes.find((each) => each === hook) ?? 'auto';
  }

  async choose(wish: Wish): Promise<void> {
    this.busy = true;
    this.failed = false;
    this.outcome = e('wish.busy');
    try {
      const refused = await this.move(wish);
      this.failed = refused !== '';
      this.outcome = refused
        ? e('wish.undone', { text: refused })
        : e('wish.done', { hook: wishName(wish) });
      if (!refused) this.wished = wish;
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      this.failed = true;
      const text = fault.kind === 'denied' ? e('wish.denied') : fault.message;
      this.outcome = e('wish.undone', { text });
      throw fault;
    } finally {
      this.busy = false;
    }
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
    return bare ? `${bare.device}: ${bare.why}` : e('wish.silent');
  }

  private async main(signal?: AbortSignal): Promise<Section | undefined> {
    const reply = await this.change.router.ask('get', { configs: ['fastpath'] }, signal);
    const { fastpath = [] } = reply['configs'] as Record<string, Section[]>;
    return fastpath.find(({ type }) => type === 'fastpath');
  }
}
