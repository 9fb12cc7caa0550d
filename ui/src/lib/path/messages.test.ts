// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Inspection, Path, Reason } from '../api/types';
import { engineName } from '../overview/engine.svelte';
import {
  classOf,
  explain,
  inspectionName,
  pathName,
  paths,
  pathWords,
  reasonName,
  reasonWords,
  shownPaths,
} from './path';

interface SharedTypes {
  $defs: Record<string, { enum: string[] }>;
}
const file = new URL('../../../../feeds/fastpathd/src/schema/types.json', import.meta.url);
const shared = JSON.parse(readFileSync(file, 'utf8')) as SharedTypes;
const listed = (name: string) => shared.$defs[name]?.enum ?? [];

function expectSentence(words: string) {
  expect(words).toMatch(/^[A-Z].{20,}\.$/);
}

describe('messages for the closed lists of the schema', () => {
  it('has a name and a sentence for every path', () => {
    expect([...paths, 'ended'].sort()).toEqual([...listed('Path')].sort());
    for (const path of listed('Path') as Path[]) {
      expect(pathName(path)).toMatch(/\w/);
      expectSentence(pathWords(path));
    }
  });

  it('has a name and a sentence for every reason', () => {
    expect(listed('Reason').length).toBeGreaterThan(10);
    for (const reason of listed('Reason') as Reason[]) {
      expect(reasonName(reason)).toMatch(/\w/);
      expectSentence(reasonWords(reason));
    }
  });

  it('has different sentences for paths and reasons', () => {
    const reasons = (listed('Reason') as Reason[]).map(reasonWords);
    expect(new Set(reasons).size).toBe(reasons.length);
    expect(new Set(paths.map(pathWords)).size).toBe(paths.length);
  });

  it('has a distinct message for every inspection state', () => {
    const names = (listed('Inspection') as Inspection[]).map(inspectionName);
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) expect(name).toMatch(/^[A-Z][^.]+$/);
    expect(new Set(names).size).toBe(names.length);
  });

  it('has a name for every engine', () => {
    for (const engine of listed('Engine')) expect(engineName(engine as 'off')).toMatch(/\w/);
  });
});

it('explains a path together with its reason, if it has one', () => {
  expect(explain('flowtable', '')).toBe(pathWords('flowtable'));
  expect(explain('slow', 'helper')).toBe(`${pathWords('slow')} ${reasonWords('helper')}`);
});

it('has a separate class for flows that are not forwarded', () => {
  expect(classOf({ path: 'slow', reason: 'local' })).toBe('local');
  expect(classOf({ path: 'slow', reason: 'multicast' })).toBe('local');
  expect(classOf({ path: 'slow', reason: 'helper' })).toBe('slow');
  expect(classOf({ path: 'flowtable', reason: '' })).toBe('flowtable');
  expect(pathName('local')).toBe('Local');
  expectSentence(pathWords('local'));
  expect(explain('slow', 'local')).toBe(reasonWords('local'));
});

it('shows slow, flowtable, the engine’s path, and others with traffic', () => {
  const none = { flows: 0, bytes: 0, packets: 0, bps: 0, pps: 0 };
  const totals = { slow: none, inspect: none, flowtable: none, hardware: none, ebpf: none };
  expect(shownPaths(totals, 'off')).toEqual(['flowtable', 'slow']);
  expect(shownPaths(totals, 'ebpf')).toEqual(['ebpf', 'flowtable', 'slow']);
  expect(shownPaths(totals, 'flowtable-hw')).toEqual(['hardware', 'flowtable', 'slow']);
  const inspected = { ...totals, inspect: { ...none, bytes: 7 } };
  expect(shownPaths(inspected, 'flowtable')).toEqual(['flowtable', 'inspect', 'slow']);
});
