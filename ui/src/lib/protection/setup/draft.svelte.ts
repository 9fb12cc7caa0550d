// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from '../../api/errors';
import type { Health, Ips } from '../../api/types';
import { refusalOf, type Configuration } from '../../uci/configuration';
import { changesOf, newName, type Change, type Section, type Value } from '../../uci/sections';
import { until } from '../../live/pause';
import { agrees } from './agreement';
import { readRefusals, type Problem } from './problems';

/** Until the daemon has read a configuration and said what it thinks of it. */
const DEADLINE_MS = 20_000;
/** A change that `ips` does not show counts as taken when no refusal came for this long. */
const QUIET_MS = 5000;

export type Stage =
  'loading' | 'editing' | 'writing' | 'waiting' | 'undoing' | 'done' | 'refused' | 'failed';

/** What the daemon says now. */
export interface Router {
  ips(): Promise<Ips>;
  health(): readonly Health[];
}

function without(options: Section['options'], option: string): Section['options'] {
  return Object.fromEntries(Object.entries(options).filter(([name]) => name !== option));
}

/**
 * The configuration as the user wants it. Nothing is written before `apply`, which brings it in
 * force, waits for the daemon's opinion, and takes it back when the daemon refuses.
 */
export class Draft {
  sections = $state<Section[]>([]);
  stage = $state<Stage>('loading');
  /** What happened, for the user; a fault's own words. */
  trouble = $state('');
  /** Values the router refused, as long as they stand. */
  refused = $state.raw<readonly Problem[]>([]);
  private base = $state.raw<readonly Section[]>([]);
  private added = 0;

  constructor(
    private readonly configuration: Configuration,
    private readonly router: Router,
  ) {}

  /** Computed at each read: a draft outlives the component whose `$derived` this would be. */
  get changes(): Change[] {
    return changesOf(this.base, $state.snapshot(this.sections));
  }

  get busy(): boolean {
    return ['loading', 'writing', 'waiting', 'undoing'].includes(this.stage);
  }

  async load(signal?: AbortSignal): Promise<void> {
    this.take(await this.configuration.read(signal));
    if (this.stage === 'loading') this.stage = 'editing';
  }

  /** Back to what the router has. */
  discard(): void {
    this.take(this.base);
    this.stage = 'editing';
    this.trouble = '';
  }

  /** The sections of a type, in order. */
  of(type: string): Section[] {
    return this.sections.filter((section) => section.type === type);
  }

  /** Sets an option; what is as by default is not written where it was not before. */
  set(section: Section, option: string, value: Value, otherwise: Value = ''): void {
    const before = this.base.find((each) => each.name === section.name)?.options[option];
    const asBefore = JSON.stringify(value) === JSON.stringify(otherwise) && before === undefined;
    const gone = value.length === 0 || asBefore;
    section.options = gone
      ? without(section.options, option)
      : { ...section.options, [option]: value };
    const same = (each: Problem) => each.section === section.name && each.option === option;
    this.refused = this.refused.filter((each) => !same(each));
    if (!this.busy) this.stage = 'editing';
  }

  /** The section of a name, made when there is none. */
  named(type: string, name: string): Section {
    const known = this.sections.find((each) => each.name === name || each.name === newName(name));
    return known ?? this.add(type, {}, name);
  }

  /** A new section after the others; anonymous unless it has a name. */
  add(type: string, options: Section['options'], name = ''): Section {
    this.added += 1;
    const anonymous = name === '';
    const unique = newName(anonymous ? String(this.added) : name);
    this.sections.push({ name: unique, type, anonymous, options });
    if (!this.busy) this.stage = 'editing';
    return this.sections.at(-1) as Section;
  }

  remove(section: Section): void {
    this.sections = this.sections.filter((each) => each.name !== section.name);
    this.stage = 'editing';
  }

  /** Moves a section among those of its type; answers whether there was room. */
  move(section: Section, by: -1 | 1): boolean {
    const peers = this.of(section.type);
    const other = peers[peers.findIndex((each) => each.name === section.name) + by];
    if (!other) return false;
    const at = this.sections.findIndex((each) => each.name === section.name);
    const to = this.sections.findIndex((each) => each.name === other.name);
    const moved = [...this.sections];
    [moved[at], moved[to]] = [other, section];
    this.sections = moved;
    this.stage = 'editing';
    return true;
  }

  async apply(): Promise<void> {
    const after = $state.snapshot(this.sections);
    this.trouble = '';
    this.refused = [];
    try {
      await this.write(after);
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      this.trouble = fault.message;
      this.stage = 'failed';
      throw fault;
    }
  }

  private async write(after: Section[]): Promise<void> {
    this.stage = 'writing';
    const before = this.refusal;
    const shown = !agrees(after, this.base, await this.router.ips());
    await this.configuration.revert();
    const now = await this.configuration.read();
    if (changesOf(this.base, now).length > 0) {
      throw new Fault('failed', 'changed');
    }
    await this.staged(after);
    this.stage = 'waiting';
    const said = await this.opinion(after, before, shown);
    if (said === 'taken') {
      await this.configuration.confirm();
      this.take(await this.configuration.read());
      this.stage = 'done';
      return;
    }
    this.stage = 'undoing';
    await this.configuration.rollBack();
    this.refused = readRefusals(said, after);
    this.trouble = said;
    // The refusal goes with what was refused; the next attempt must not see the old one.
    await until(() => this.refusal !== said, QUIET_MS);
    this.stage = 'refused';
  }

  /** Stages and applies, or leaves nothing behind. */
  private async staged(after: Section[]): Promise<void> {
    try {
      await this.configuration.stage(this.base, after);
      await this.configuration.apply();
    } catch (fault) {
      await this.configuration.revert().catch(() => undefined);
      throw fault;
    }
  }

  private get refusal(): string {
    return refusalOf(this.router.health());
  }

  /** `taken`, or the refusal in the daemon's words; empty when it said nothing. */
  private async opinion(after: Section[], before: string, shown: boolean): Promise<string> {
    const began = performance.now();
    let said = '';
    await until(async () => {
      if (this.refusal !== before && this.refusal !== '') {
        said = this.refusal;
        return true;
      }
      const ips = await this.router.ips().catch(() => null);
      const quiet = performance.now() - began > QUIET_MS;
      if (ips === null || this.refusal !== '' || !agrees(after, this.base, ips)) return false;
      if (shown || quiet) said = 'taken';
      return said !== '';
    }, DEADLINE_MS);
    return said || this.refusal;
  }

  private take(sections: readonly Section[]): void {
    this.base = sections;
    this.sections = structuredClone(sections) as Section[];
    this.refused = [];
  }
}
