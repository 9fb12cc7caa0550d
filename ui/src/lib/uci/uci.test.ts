// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import { Fault } from '../api/errors';
import { Configuration } from './configuration';
import { changesOf, newName, type Section } from './sections';

const section = (name: string, type: string, options: Section['options'] = {}): Section => ({
  name,
  type,
  anonymous: /^(cfg|\+\d)/.test(name),
  options,
});

const main = section('main', 'fastpath', { engine: 'flowtable' });
const ips = section('ips', 'ips', { enabled: '1', exempt: ['10.0.0.1'] });
const a = section('cfg01', 'policy', { name: 'a', src: 'lan' });
const b = section('cfg02', 'policy', { name: 'b' });
const c = section('cfg03', 'policy', { name: 'c' });
const file = [main, ips, a, b, c];

describe('changes', () => {
  it('are none between equals, whatever the order of the options', () => {
    const turned = { ...a, options: { src: 'lan', name: 'a' } };
    expect(changesOf(file, [main, ips, turned, b, c])).toEqual([]);
  });

  it('name what was set, taken away, added and removed', () => {
    const changed = { ...ips, options: { enabled: '0', block: '1' } };
    const added = section(newName('1'), 'policy', { name: 'd' });
    const changes = changesOf(file, [main, changed, a, b, added]);
    expect(changes.map((each) => each.kind)).toEqual(['removed', 'set', 'set', 'set', 'added']);
    expect(changes).toContainEqual({
      kind: 'set',
      section: changed,
      option: 'exempt',
      from: ['10.0.0.1'],
      to: undefined,
    });
  });

  it('tell the least number of moves', () => {
    const moved = changesOf(file, [main, ips, c, a, b]);
    expect(moved).toEqual([{ kind: 'moved', section: c, from: 3, to: 1 }]);
    expect(changesOf(file, [main, ips, a, c])).toEqual([{ kind: 'removed', section: b }]);
  });
});

/** What rpcd was asked. */
class Rpcd {
  calls: string[] = [];
  fault: Record<string, Fault> = {};
  answers: Record<string, Record<string, unknown>> = {};

  request(_: string, method: string, args: object) {
    this.calls.push(`${method} ${JSON.stringify(args)}`);
    const fault = this.fault[method];
    if (fault) return Promise.reject(fault);
    return Promise.resolve(this.answers[method] ?? (method === 'add' ? { section: 'cfg09' } : {}));
  }
}

describe('Configuration', () => {
  let rpcd: Rpcd;
  let configuration: Configuration;

  beforeEach(() => {
    rpcd = new Rpcd();
    configuration = new Configuration(rpcd);
  });

  it('is read as everybody may read it, without secrets', async () => {
    const values = { url: 'https://ann:•••@rules.example/' };
    const answered = { section: 'et', label: 'et', type: 'rules', anonymous: false, values };
    rpcd.answers['get'] = { configs: { fastpath: [answered] } };
    expect(await configuration.read()).toEqual([section('et', 'rules', values)]);
    expect(rpcd.calls).toEqual(['get {"configs":["fastpath"]}']);
    rpcd.answers['get'] = { configs: {} };
    expect(await configuration.read()).toEqual([]);
  });

  it('does not write what is shown instead of a secret', async () => {
    const rules = section('et', 'rules', { url: 'https://ann:•••@rules.example/' });
    await configuration.stage([rules], [rules, section(newName('b'), 'rules')]);
    rpcd.calls = [];
    const moved = section('et', 'rules', { url: 'https://ann:•••@rules.example/new' });
    const added = section(newName('c'), 'rules', { url: ['https://rules.example/?key=•••'] });
    for (const after of [[moved], [rules, added]]) {
      await expect(configuration.stage([rules], after)).rejects.toThrow('•••');
    }
    expect(rpcd.calls).toEqual([]);
  });

  it('writes only what differs', async () => {
    const changed = { ...ips, options: { enabled: '0', block: '1' } };
    await configuration.stage(file, [main, changed, a, b]);
    expect(rpcd.calls).toEqual([
      'delete {"config":"fastpath","section":"cfg03"}',
      'set {"config":"fastpath","section":"ips","values":{"enabled":"0","block":"1"}}',
      'delete {"config":"fastpath","section":"ips","options":["exempt"]}',
    ]);
  });

  it('orders new sections in by the names rpcd gave them', async () => {
    const added = section(newName('1'), 'policy', { name: 'd', src: '' });
    await configuration.stage(file, [main, ips, added, a, b, c]);
    expect(rpcd.calls).toEqual([
      'add {"config":"fastpath","type":"policy","values":{"name":"d"}}',
      'order {"config":"fastpath","sections":["main","ips","cfg09","cfg01","cfg02","cfg03"]}',
    ]);
  });

  it('leaves the order alone when new sections come last', async () => {
    const added = section(newName('et'), 'rules', { url: 'https://x' });
    await configuration.stage(file, [...file, added]);
    expect(rpcd.calls).toEqual([
      'add {"config":"fastpath","type":"rules","name":"et","values":{"url":"https://x"}}',
    ]);
  });

  it('applies so that rpcd takes it back unless it is confirmed', async () => {
    await configuration.apply();
    expect(rpcd.calls).toEqual(['changes {}', 'apply {"rollback":true,"timeout":40}']);
  });

  it('does not apply what the session has staged of other files', async () => {
    rpcd.answers['changes'] = { changes: { network: [], fastpath: [], dhcp: [] } };
    const refused = configuration.apply();
    await expect(refused).rejects.toMatchObject({ kind: 'failed' });
    await expect(refused).rejects.toThrow('network, dhcp');
    expect(rpcd.calls).toEqual(['changes {}']);
  });

  it('takes back an apply and what was staged', async () => {
    rpcd.fault['revert'] = new Fault('gone', 'uci revert: Not found');
    await configuration.rollBack();
    expect(rpcd.calls.map((call) => call.split(' ')[0])).toEqual(['rollback', 'revert']);
  });
});
