// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import type { Flow, FlowDetail, FlowPage } from '../api/types';
import { paths } from '../path/path';
import {
  amongAll,
  intoGroup,
  isFiltered,
  queryOf,
  readView,
  sortedBy,
  unfiltered,
  writeView,
} from './query';
import { distinct, endOf, endpoint, endsOf, keepOrder, isTranslated, rowsOf } from './rows';
import { drawn, isShort, windowAround, WINDOW_ROWS } from './window';

const view = (hash: string) => readView(new URLSearchParams(hash));

describe('the view in the address', () => {
  it('omits default values', () => {
    expect(writeView(view('')).toString()).toBe('');
  });

  it('is read back unchanged', () => {
    const hash =
      'text=nas+443&path=slow%2Cinspect&proto=udp&vlan=20&host=10.0.0.1&reason=helper' +
      '&group=host&sort=bytes&dir=asc&nat=1&local=1&flow=77';
    expect(writeView(view(hash)).toString()).toBe(hash);
  });

  it('replaces invalid values with defaults', () => {
    const odd = view('path=slow,nonsense&vlan=-4&group=colour&flow=x&dir=sideways');
    expect(odd).toMatchObject({ path: ['slow'], vlan: 0, group: '', flow: 0, desc: true });
    expect(view(`text=${'a'.repeat(500)}`).text).toHaveLength(200);
  });
});

describe('the daemon’s query', () => {
  it('names only the filters that are set', () => {
    expect(queryOf(view('local=1&ended=1'))).toEqual({
      filter: {},
      sort: 'bps',
      desc: true,
      group: '',
    });
    expect(queryOf(view('text=+&vlan=20&proto=tcp&path=slow&local=1')).filter).toEqual({
      vlan: 20,
      proto: ['tcp'],
      path: ['slow'],
    });
  });

  it('excludes local flows unless they are requested', () => {
    const path = [...paths];
    expect(queryOf(view('')).filter).toEqual({ forwarded: true, path });
    expect(queryOf(view('local=1')).filter).toEqual({ path });
    for (const reason of ['local', 'multicast']) {
      expect(queryOf(view(`reason=${reason}`)).filter).toEqual({ reason: [reason], path });
    }
    expect(queryOf(view('reason=helper')).filter).toMatchObject({ forwarded: true });
  });

  it('excludes ended flows unless they are requested', () => {
    expect(queryOf(view('')).filter?.path).not.toContain('ended');
    expect(queryOf(view('ended=1')).filter).toEqual({ forwarded: true });
    expect(queryOf(view('path=ended')).filter?.path).toEqual(['ended']);
    expect(queryOf(view('path=slow&ended=1')).filter?.path).toEqual(['slow', 'ended']);
    expect(queryOf(view('path=slow')).filter?.path).toEqual(['slow']);
    for (const address of ['ended=1', 'path=slow,ended', 'local=1&ended=1']) {
      expect(readView(writeView(view(address)))).toEqual(view(address));
    }
  });

  it('returns the end of a flow and its offloaded share', () => {
    const flow = { up_bytes: 100, down_bytes: 900 };
    const events = [
      { at_ms: 1, path: 'flowtable' },
      { at_ms: 2, path: 'ended' },
    ];
    const end = (offloaded_bytes: number, of = flow) =>
      endOf({ flow: of, events, offloaded_bytes } as unknown as FlowDetail);
    expect(end(990)).toEqual({ at_ms: 2, share: 0.99 });
    expect(end(0, { up_bytes: 0, down_bytes: 0 }).share).toBe(null);
  });

  it('does not count hidden flows', () => {
    expect(isFiltered(view(''))).toBe(false);
    expect(isFiltered(view('local=1'))).toBe(false);
    expect(unfiltered(view('local=1&proto=tcp')).local).toBe(true);
    const left = { local: 5, ended: 3 };
    expect(amongAll(view('proto=tcp'), 9, left)).toBe(1);
    expect(amongAll(view('proto=tcp&local=1'), 9, left)).toBe(6);
    expect(amongAll(view('proto=tcp&local=1&ended=1'), 9, left)).toBe(9);
    expect(amongAll(view('reason=local'), 9, left)).toBe(6);
    expect(amongAll(view('path=ended'), 9, left)).toBe(4);
  });

  it('detects and removes filters', () => {
    const filtered = view('host=10.0.0.1&sort=bytes');
    expect(isFiltered(filtered)).toBe(true);
    expect(isFiltered(unfiltered(filtered))).toBe(false);
    expect(unfiltered(filtered).sort).toBe('bytes');
  });

  it('opens the flows of a group', () => {
    expect(intoGroup(view('group=host&sort=ratio'), '10.0.0.1')).toMatchObject({
      group: '',
      host: '10.0.0.1',
      sort: 'bps',
    });
    expect(intoGroup(view('group=vlan'), '20').vlan).toBe(20);
    expect(intoGroup(view('group=path'), 'slow').path).toEqual(['slow']);
    expect(intoGroup(view('group=service'), 'tcp/443')).toMatchObject({
      proto: 'tcp',
      text: '443',
    });
  });

  it('reverses the sorted column and starts another in its natural order', () => {
    expect(sortedBy(view(''), 'bps', true)).toMatchObject({ sort: 'bps', desc: false });
    expect(sortedBy(view(''), 'src', false)).toMatchObject({ sort: 'src', desc: false });
    expect(sortedBy(view('sort=src'), 'bytes', true)).toMatchObject({ sort: 'bytes', desc: true });
  });
});

describe('the window of rows', () => {
  it('draws the visible rows and a few more', () => {
    expect(drawn(0, 320, 32, 20_000)).toEqual({ first: 0, end: 14 });
    expect(drawn(32_000, 320, 32, 20_000)).toEqual({ first: 996, end: 1014 });
    expect(drawn(639_680, 320, 32, 20_000)).toEqual({ first: 19_986, end: 20_000 });
  });

  it('draws nothing of an empty table or beyond its end', () => {
    expect(drawn(0, 320, 32, 0)).toEqual({ first: 0, end: 0 });
    expect(drawn(32_000, 320, 32, 5)).toEqual({ first: 5, end: 5 });
  });

  it('fetches around the middle, inside the table', () => {
    expect(windowAround({ first: 0, end: 18 }, 20_000)).toEqual({ offset: 0, limit: WINDOW_ROWS });
    expect(windowAround({ first: 992, end: 1018 }, 20_000).offset).toBe(1005 - WINDOW_ROWS / 2);
    expect(windowAround({ first: 19_982, end: 20_000 }, 20_000).offset).toBe(20_000 - WINDOW_ROWS);
    expect(windowAround({ first: 0, end: 5 }, 5).offset).toBe(0);
  });

  it('covers the visible rows at any position', () => {
    for (let first = 0; first < 20_000; first += 97) {
      const visible = { first, end: Math.min(20_000, first + 40) };
      const { offset, limit } = windowAround(visible, 20_000);
      const known = { first: offset, end: Math.min(20_000, offset + limit) };
      expect(isShort(known, visible, 20_000)).toBe(false);
    }
  });

  it('fetches more rows before the end of the window', () => {
    const known = { first: 100, end: 260 };
    expect(isShort(known, { first: 160, end: 200 }, 20_000)).toBe(false);
    expect(isShort(known, { first: 210, end: 250 }, 20_000)).toBe(true);
    expect(isShort(known, { first: 110, end: 150 }, 20_000)).toBe(true);
    expect(isShort({ first: 0, end: 50 }, { first: 0, end: 50 }, 50)).toBe(false);
  });
});

describe('rows', () => {
  const page = (cols: string[], rows: FlowPage['rows']): FlowPage => ({
    total: 9,
    matched: 9,
    epoch: 1,
    now_ms: 0,
    cols,
    rows,
  });

  it('follow the page’s column names in any order', () => {
    const [row] = rowsOf(page(['dst', 'id', 'src'], [['b', 7, 'a']]));
    expect(row).toMatchObject({ kind: 'flow', key: 'f7', flow: { src: 'a', dst: 'b' } });
    const [group] = rowsOf(page(['key', 'flows'], [['10.0.0.1', 3]]));
    expect(group).toMatchObject({ kind: 'group', key: 'g10.0.0.1', group: { flows: 3 } });
  });

  it('keep their places while held, with current figures', () => {
    const held = rowsOf(
      page(
        ['id', 'bps'],
        [
          [1, 10],
          [2, 20],
          [3, 30],
        ],
      ),
    );
    const fresh = rowsOf(
      page(
        ['id', 'bps'],
        [
          [3, 31],
          [1, 11],
          [4, 41],
        ],
      ),
    );
    expect(keepOrder(held, fresh).map((row) => row.key)).toEqual(['f1', 'f2', 'f3']);
    expect(keepOrder(held, fresh)[2]).toBe(fresh[0]);
    expect(keepOrder(held, fresh)[1]).toBe(held[1]);
  });

  it('are never duplicated', () => {
    expect(distinct(rowsOf(page(['id'], [[1], [2], [1]])))).toHaveLength(2);
  });
});

describe('ends of a flow', () => {
  const flow = { proto: 'tcp', src: '10.0.0.1', sport: 1, dst: '2001:db8::1', dport: 443 } as Flow;

  const same = { nat_src: flow.src, nat_sport: 1, nat_dst: flow.dst, nat_dport: 443 };

  it('are written with ports, and brackets for IPv6', () => {
    const before = (of: Flow) => endsOf({ ...of, ...same }).map((end) => end.before);
    expect(before(flow)).toEqual(['10.0.0.1:1', '[2001:db8::1]:443']);
    expect(before({ ...flow, proto: 'icmp' })[0]).toBe('10.0.0.1');
    expect(endpoint('2001:db8::1', 0)).toBe('2001:db8::1');
  });

  it('are translated if any address or port differs after NAT', () => {
    expect(isTranslated({ ...flow, ...same })).toBe(false);
    expect(isTranslated({ ...flow, ...same, nat_sport: 2 })).toBe(true);
  });
});
