// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Fault } from '../../api/errors';
import type { Health, Ips } from '../../api/types';
import { Configuration } from '../../uci/configuration';
import type { Section } from '../../uci/sections';
import { agrees } from './agreement';
import { changeWords } from './changeWords';
import { Draft } from './draft.svelte';
import { anIps } from '../examples';

type Values = Record<string, Record<string, unknown>>;

const file: Values = {
  ips: { '.name': 'ips', '.type': 'ips', '.index': 0, enabled: '1', block: '1' },
  cfg01: { '.name': 'cfg01', '.type': 'policy', '.anonymous': true, '.index': 1, name: 'a' },
  cfg02: { '.name': 'cfg02', '.type': 'policy', '.anonymous': true, '.index': 2, name: 'b' },
};

/** As `fastpath.change get` answers them. */
function answered(values: Values) {
  const all = Object.values(structuredClone(values));
  all.sort((a, b) => Number(a['.index']) - Number(b['.index']));
  return all.map((each) => {
    const options = Object.entries(each).filter(([option]) => !option.startsWith('.'));
    const { '.name': section, '.type': type, '.anonymous': anonymous } = each;
    return { section, type, anonymous, values: Object.fromEntries(options) };
  });
}

/** A router with rpcd's way back, and a daemon that reads a configuration a second later. */
class Router {
  committed: Values = structuredClone(file);
  staged: Values | null = null;
  before: Values | null = null;
  /** What the daemon works by. */
  inForce: Values = structuredClone(file);
  finding = '';
  deaf = false;
  calls: string[] = [];
  fault: Record<string, Fault> = {};

  request(_: string, method: string, args: Record<string, unknown>) {
    this.calls.push(method);
    const fault = this.fault[method];
    return fault ? Promise.reject(fault) : Promise.resolve(this.answer(method, args));
  }

  private answer(method: string, args: Record<string, unknown>): Record<string, unknown> {
    const edited = (this.staged ??= structuredClone(this.committed));
    const section = edited[String(args['section'])] ?? {};
    if (method === 'get') return { configs: { fastpath: answered(edited) } };
    if (method === 'set') Object.assign(section, args['values']);
    if (method === 'delete') Reflect.deleteProperty(edited, String(args['section']));
    if (method === 'add') {
      const head = { '.name': 'cfg03', '.type': args['type'], '.anonymous': true, '.index': 99 };
      edited['cfg03'] = { ...head, ...(args['values'] as object) };
      return { section: 'cfg03' };
    }
    if (method === 'order') {
      (args['sections'] as string[]).forEach((name, i) => ((edited[name] ?? {})['.index'] = i));
    }
    if (method === 'revert') this.staged = null;
    if (method === 'apply') {
      this.before = this.committed;
      this.commit(edited);
    }
    if (method === 'rollback' && this.before) this.commit(this.before);
    return {};
  }

  private commit(values: Values): void {
    this.committed = values;
    this.staged = null;
    setTimeout(() => {
      if (this.deaf) return;
      const bad = Object.values(values).find((each) => each['src'] === 'cellar');
      this.finding = bad ? "section '@policy[0]', option 'src', value 'cellar': is no zone" : '';
      if (!bad) this.inForce = values;
    }, 1000);
  }

  ips(): Promise<Ips> {
    const all = Object.values(this.inForce).sort(
      (a, b) => Number(a['.index']) - Number(b['.index']),
    );
    const policies = all.filter((each) => each['.type'] === 'policy');
    const rules = policies.map((each) => ({
      section: String(each['.name']),
      name: String(each['name'] ?? ''),
      enabled: true,
      src: String(each['src'] ?? ''),
      dest: '',
      src_vlan: 0,
      dest_vlan: 0,
      action: (each['action'] ?? 'inspect') as 'inspect',
    }));
    const ips = anIps({ fail: (this.inForce['ips']?.['fail'] ?? 'open') as 'open' });
    ips.policy = { ...ips.policy, exempt: [], policies: rules };
    ips.rules = { ...ips.rules, sources: [] };
    return Promise.resolve(ips);
  }

  health(): Health[] {
    const text = `/etc/config/fastpath is not used: ${this.finding}`;
    return this.finding ? [{ code: 'config-refused', level: 'error', text }] : [];
  }
}

let router: Router;
let draft: Draft;
const policy = (name: string) =>
  draft.of('policy').find((each) => each.options['name'] === name) as Section;

beforeEach(async () => {
  vi.useFakeTimers();
  router = new Router();
  draft = new Draft(new Configuration(router), router);
  await draft.load();
  router.calls = [];
});

afterEach(() => vi.useRealTimers());

describe('editing', () => {
  it('writes nothing, and shows what would change', () => {
    draft.set(policy('a'), 'action', 'always', 'inspect');
    draft.move(policy('a'), 1);
    draft.add('policy', { name: 'c', action: 'none' });
    expect(draft.changes.map(changeWords)).toEqual([
      'Policy “a”, Action: Inspect → Always inspect',
      'Policy “c” added. Action: Don’t inspect',
      'Policy “a” moves from position 1 to 2.',
    ]);
    expect(router.calls).toEqual([]);
    draft.discard();
    expect(draft.changes).toEqual([]);
  });

  it('does not write out what is as by default', () => {
    draft.set(policy('a'), 'action', 'always', 'inspect');
    draft.set(policy('a'), 'action', 'inspect', 'inspect');
    expect(draft.changes).toEqual([]);
    draft.set(draft.named('ips', 'ips'), 'enabled', '0', '0');
    expect(draft.changes.map(changeWords)).toEqual([
      'Inspection, Intrusion prevention (IPS): on → off',
    ]);
  });

  it('makes a section that is missing, once', () => {
    draft.set(draft.named('update', 'update'), 'hour', '5', '4');
    draft.set(draft.named('update', 'update'), 'enabled', '0', '1');
    expect(draft.of('update')).toHaveLength(1);
    expect(draft.changes).toHaveLength(1);
  });

  it('does not move out of the list', () => {
    expect(draft.move(policy('a'), -1)).toBe(false);
    expect(draft.move(policy('b'), 1)).toBe(false);
  });
});

describe('applying', () => {
  it('confirms what the daemon works by', async () => {
    draft.set(policy('a'), 'action', 'always', 'inspect');
    draft.move(policy('a'), 1);
    const done = draft.apply();
    await vi.advanceTimersByTimeAsync(3000);
    await done;
    expect(draft.stage).toBe('done');
    expect(router.calls).toContain('confirm');
    expect(router.calls).not.toContain('rollback');
    expect(draft.changes).toEqual([]);
    expect(draft.of('policy').map((each) => each.options['name'])).toEqual(['b', 'a']);
  });

  it('takes back what the daemon refuses, and tells it at its field', async () => {
    draft.set(policy('a'), 'src', 'cellar');
    const done = draft.apply();
    await vi.advanceTimersByTimeAsync(10_000);
    await done;
    expect(draft.stage).toBe('refused');
    expect(router.calls).toContain('rollback');
    expect(router.calls).not.toContain('confirm');
    expect(draft.refused).toEqual([{ section: 'cfg01', option: 'src', what: 'is no zone' }]);
    expect(router.committed['cfg01']).not.toHaveProperty('src');
    // What was typed is still there to be mended; mending takes the words away.
    expect(policy('a').options['src']).toBe('cellar');
    draft.set(policy('a'), 'src', 'lan');
    expect(draft.refused).toEqual([]);
    const again = draft.apply();
    await vi.advanceTimersByTimeAsync(5000);
    await again;
    expect(draft.stage).toBe('done');
  });

  it('refuses the same mistake twice', async () => {
    for (let attempt = 0; attempt < 2; attempt++) {
      draft.set(policy('a'), 'src', 'cellar');
      const done = draft.apply();
      await vi.advanceTimersByTimeAsync(10_000);
      await done;
      expect(draft.stage).toBe('refused');
    }
  });

  it('waits for a refusal where nothing else would show', async () => {
    draft.set(draft.named('ips', 'ips'), 'block_time', '60', '600');
    const done = draft.apply();
    await vi.advanceTimersByTimeAsync(3000);
    expect(draft.stage).toBe('waiting');
    await vi.advanceTimersByTimeAsync(5000);
    await done;
    expect(draft.stage).toBe('done');
  });

  it('takes back what the daemon does not take in time', async () => {
    router.deaf = true;
    draft.set(draft.named('ips', 'ips'), 'fail', 'closed', 'open');
    const done = draft.apply();
    await vi.advanceTimersByTimeAsync(40_000);
    await done;
    expect(draft).toMatchObject({ stage: 'refused', trouble: '' });
    expect(router.calls).toContain('rollback');
  });

  it('does not write over what somebody else wrote', async () => {
    (router.committed['cfg02'] ?? {})['action'] = 'none';
    router.staged = null;
    draft.set(policy('a'), 'action', 'always', 'inspect');
    await expect(draft.apply()).rejects.toThrow('changed');
    expect(draft.stage).toBe('failed');
    expect(router.calls).not.toContain('set');
  });

  it('leaves nothing staged when rpcd refuses', async () => {
    router.fault['apply'] = new Fault('denied', 'uci apply: Permission denied');
    draft.set(policy('a'), 'action', 'always', 'inspect');
    await expect(draft.apply()).rejects.toThrow('Permission denied');
    expect(draft).toMatchObject({ stage: 'failed', trouble: 'uci apply: Permission denied' });
    expect(router.calls.at(-1)).toBe('revert');
    expect(draft.changes).toHaveLength(1);
  });
});

describe('agreement', () => {
  const sections = (policies: Section[]): Section[] => [
    {
      name: 'ips',
      type: 'ips',
      anonymous: false,
      options: { enabled: '1', block: '1', exempt: ['10.10.10.5'] },
    },
    ...policies,
    { name: 'et', type: 'rules', anonymous: false, options: {} },
    { name: 'house', type: 'rules', anonymous: false, options: {} },
  ];
  const told = (): Section[] => [
    {
      name: 'cfg0a92bd',
      type: 'policy',
      anonymous: true,
      options: { name: 'cameras', src: 'iot', dest: 'wan', action: 'always' },
    },
    {
      name: 'cfg0b92bd',
      type: 'policy',
      anonymous: true,
      options: {
        name: 'backup',
        src: 'lan',
        dest: '*',
        src_vlan: '10',
        dest_vlan: '20',
        action: 'none',
      },
    },
  ];

  it('sees that the daemon works by the configuration', () => {
    expect(agrees(sections(told()), [], anIps())).toBe(true);
  });

  it('knows the spellings of switches and networks', () => {
    const spelled = { enabled: 'yes', block: 'on', exempt: ['10.10.10.5', '10.10.10.5/32'] };
    const made = sections(told())
      .map((each) => with_(each, spelled))
      .map((each) => with_(each, { enabled: 'true' }, 'et'))
      .map((each) => with_(each, { enabled: 'enabled' }, 'cfg0a92bd'));
    expect(agrees(made, [], anIps())).toBe(true);
  });

  it.each([
    ['another order', () => sections(told().reverse())],
    ['a policy less', () => sections(told().slice(1))],
    ['a source more', () => [...sections(told()), { ...sections([])[1], name: '+new' } as Section]],
    ['another budget', () => sections(told()).map((each) => with_(each, { budget_bytes: '0' }))],
    ['inspection off', () => sections(told()).map((each) => with_(each, { enabled: 'off' }))],
    ['a source off', () => sections(told()).map((each) => with_(each, { enabled: 'no' }, 'et'))],
  ])('sees %s', (_, made) => {
    expect(agrees(made(), [], anIps())).toBe(false);
  });

  it('sees a source that should be gone', () => {
    const base = sections(told());
    const less = base.filter((each) => each.name !== 'house');
    expect(agrees(less, base, anIps())).toBe(false);
  });

  function with_(section: Section, options: Section['options'], name = 'ips'): Section {
    if (section.name !== name) return section;
    return { ...section, options: { ...section.options, ...options } };
  }
});
