// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import { t } from '../i18n/t';
import type { Health } from '../api/types';
import { bareName, changesOf, hasMask, isNew, sectionsOf } from './sections';
import type { Answered, Change, Section, Value } from './sections';

/** Longer than the daemon may take to say what it thinks; then rpcd undoes everything itself. */
export const UNDO_S = 40;

/** What the daemon says of a configuration it does not use; empty when it uses it. */
export function refusalOf(health: readonly Health[]): string {
  return health.find((each) => each.code === 'config-refused')?.text ?? '';
}

/**
 * `/etc/config/fastpath`: read without its secrets, as everybody may, and written over the ubus
 * object `uci`, with changes that can be taken back.
 */
export class Configuration {
  constructor(
    private readonly api: Pick<Fastpath, 'request'>,
    private readonly name = 'fastpath',
  ) {}

  async read(signal?: AbortSignal): Promise<Section[]> {
    const wanted = { configs: [this.name] };
    const reply = await this.api.request('fastpath.change', 'get', wanted, signal);
    return sectionsOf((reply['configs'] as Record<string, Answered[]> | undefined)?.[this.name]);
  }

  /** Drops what this session had begun to change. There is nothing to drop most of the time. */
  async revert(): Promise<void> {
    await this.call('revert', {}).catch((fault: unknown) => {
      if (!(fault instanceof Fault) || fault.kind !== 'gone') throw fault;
    });
  }

  /** Notes in the session what leads from `before` to `after`; the files stay as they are. */
  async stage(before: readonly Section[], after: readonly Section[]): Promise<void> {
    const changes = changesOf(before, after);
    if (changes.some(isMasked)) throw new Fault('failed', t('uci.masked'));
    for (const change of changes) {
      if (change.kind === 'removed') await this.call('delete', { section: change.section.name });
    }
    for (const section of after.filter((each) => !isNew(each))) {
      const mine = changes.filter((each) => each.kind === 'set' && each.section === section);
      await this.change(section.name, mine as Extract<(typeof mine)[number], { kind: 'set' }>[]);
    }
    const names = new Map<string, string>();
    for (const section of after.filter(isNew)) names.set(section.name, await this.add(section));
    if (changes.some((each) => each.kind === 'moved') || !isAtEnd(after)) {
      const sections = after.map((section) => names.get(section.name) ?? section.name);
      await this.call('order', { sections });
    }
  }

  /**
   * Brings what was staged in force; rpcd takes it back unless `confirm` follows. It applies all
   * that the session has staged, so what LuCI has of other files must not be there.
   *
   * @throws {Fault} `failed` with the names of those files
   */
  async apply(): Promise<void> {
    const names = await this.others();
    if (names.length > 0) throw new Fault('failed', t('uci.others', { names: names.join(', ') }));
    await this.api.request('uci', 'apply', { rollback: true, timeout: UNDO_S });
  }

  async confirm(): Promise<void> {
    await this.api.request('uci', 'confirm', {});
  }

  /** Takes an apply back, and the staged changes with it. */
  async rollBack(): Promise<void> {
    await this.api.request('uci', 'rollback', {});
    await this.revert();
  }

  /** Other files with changes that this session has staged. */
  private async others(): Promise<string[]> {
    const { changes } = await this.api.request('uci', 'changes', {});
    return Object.keys(changes ?? {}).filter((name) => name !== this.name);
  }

  private async change(
    section: string,
    changes: { option: string; to: Value | undefined }[],
  ): Promise<void> {
    const kept = changes.filter((each) => each.to !== undefined && each.to.length > 0);
    const gone = changes.filter((each) => !kept.includes(each)).map((each) => each.option);
    if (kept.length > 0) {
      const values = Object.fromEntries(kept.map((each) => [each.option, each.to]));
      await this.call('set', { section, values });
    }
    if (gone.length > 0) await this.call('delete', { section, options: gone });
  }

  private async add(section: Section): Promise<string> {
    const { type, anonymous } = section;
    const values = Object.fromEntries(
      Object.entries(section.options).filter(([, value]) => value.length > 0),
    );
    const name = anonymous ? {} : { name: bareName(section) };
    const reply = await this.call('add', { type, ...name, values });
    return String(reply['section']);
  }

  private call(method: string, args: object): Promise<Record<string, unknown>> {
    return this.api.request('uci', method, { config: this.name, ...args });
  }
}

/** Whether a mask would be written in place of the secret. */
function isMasked(change: Change): boolean {
  switch (change.kind) {
    case 'set':
      return change.to !== undefined && hasMask(change.to);
    case 'added':
      return Object.values(change.section.options).some(hasMask);
    case 'removed':
    case 'moved':
      return false;
  }
}

/** New sections are written at the end of the file: nothing to order when they belong there. */
function isAtEnd(after: readonly Section[]): boolean {
  const first = after.findIndex(isNew);
  return first < 0 || after.slice(first).every(isNew);
}
