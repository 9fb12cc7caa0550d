// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from '../api/errors';
import type { EbpfDevice, EbpfState, Health } from '../api/types';
import { until } from '../live/pause';
import { refusalOf, type Configuration } from '../uci/configuration';
import { textOf, type Section } from '../uci/sections';
import { e } from './words';

/** What the option `hook` of the configuration may say. */
export const wishes = ['auto', 'tcx', 'clsact', 'xdp-generic'] as const;
export type Wish = (typeof wishes)[number];

/** Until programs have moved; rpcd takes the change back after longer by itself. */
const DEADLINE_MS = 20_000;

export function wishName(wish: Wish): string {
  return e(wish === 'auto' ? 'wish.auto' : wish);
}

/** What the router says now. */
export interface Router {
  ebpf(): Promise<EbpfState>;
  health(): readonly Health[];
}

/** Whether programs are where they were wished; a port that takes none there has none. */
export function fits(devices: readonly EbpfDevice[], wish: Wish): boolean {
  const here = ({ hook }: EbpfDevice) =>
    wish === 'auto' ? hook !== '' && hook !== 'xdp-generic' : hook === wish;
  return devices.some(here) && devices.every((each) => each.hook === '' || here(each));
}

function mainOf(sections: readonly Section[]): Section | undefined {
  return sections.find((section) => section.type === 'fastpath');
}

/**
 * Choosing where programs meet packets: written into the configuration, and confirmed only when
 * they are there; what no port takes is taken back.
 */
export class HookChoice {
  /** As configured; null while that is unknown. */
  wished = $state<Wish | null>(null);
  busy = $state(false);
  outcome = $state('');
  failed = $state(false);

  constructor(
    private readonly configuration: Configuration,
    private readonly router: Router,
  ) {}

  async read(signal?: AbortSignal): Promise<void> {
    const hook = textOf(mainOf(await this.configuration.read(signal)), 'hook', 'auto');
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

  /** Answers why it was taken back; empty: it stays. */
  private async move(wish: Wish): Promise<string> {
    const refused = refusalOf(this.router.health());
    if (refused) return refused;
    await this.write(wish);
    let devices: readonly EbpfDevice[] = [];
    const there = await until(async () => {
      devices = (await this.router.ebpf().catch(() => null))?.devices ?? devices;
      return fits(devices, wish);
    }, DEADLINE_MS);
    if (there) {
      await this.configuration.confirm();
      return '';
    }
    await this.configuration.rollBack();
    const bare = devices.find((each) => each.hook === '');
    return bare ? `${bare.device}: ${bare.why}` : e('wish.silent');
  }

  /** Stages and applies, or leaves nothing behind. */
  private async write(wish: Wish): Promise<void> {
    await this.configuration.revert();
    const before = await this.configuration.read();
    const main = mainOf(before);
    const after = before.map((section) =>
      section === main ? { ...section, options: { ...section.options, hook: wish } } : section,
    );
    try {
      await this.configuration.stage(before, after);
      await this.configuration.apply();
    } catch (fault) {
      await this.configuration.revert().catch(() => undefined);
      throw fault;
    }
  }
}
