// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { actOf, shifted, stretched, within } from './view';

const whole = { from: 1000, to: 1300 };

describe('a zoomed view', () => {
  it('stays within the whole span', () => {
    expect(within({ from: 1100, to: 1200 }, whole, 1)).toEqual({ from: 1100, to: 1200 });
    expect(within({ from: 900, to: 1000 }, whole, 1)).toEqual({ from: 1000, to: 1100 });
    expect(within({ from: 1290, to: 1390 }, whole, 1)).toEqual({ from: 1200, to: 1300 });
  });

  it('is null if it covers the whole span', () => {
    expect(within({ from: 900, to: 1400 }, whole, 1)).toBeNull();
    expect(within(whole, whole, 1)).toBeNull();
    expect(within({ from: 1100, to: 1101 }, { from: 1099, to: 1102 }, 1)).toBeNull();
  });

  it('is at least five samples long', () => {
    expect(within({ from: 1100, to: 1100 }, whole, 10)).toEqual({ from: 1075, to: 1125 });
  });

  it('keeps the given time in place when stretched', () => {
    expect(stretched(whole, 1100, 1 / 2)).toEqual({ from: 1050, to: 1200 });
    expect(stretched({ from: 1050, to: 1200 }, 1100, 2)).toEqual(whole);
  });

  it('moves by a share of its length', () => {
    expect(shifted({ from: 1100, to: 1200 }, -1 / 4)).toEqual({ from: 1075, to: 1175 });
  });
});

describe('keys', () => {
  const event = { shiftKey: false, ctrlKey: false, altKey: false, metaKey: false };
  it.each([
    ['ArrowLeft', { kind: 'move', by: -1 }],
    ['End', { kind: 'end', newest: true }],
    ['+', { kind: 'stretch', times: 0.5 }],
    ['Escape', { kind: 'reset' }],
    ['a', null],
    ['toString', null],
  ])('%s', (key, act) => {
    expect(actOf({ ...event, key })).toEqual(act);
  });

  it('move the view with Shift and are left to the browser with Ctrl', () => {
    const shift = { ...event, shiftKey: true };
    expect(actOf({ ...shift, key: 'ArrowLeft' })).toEqual({ kind: 'shift', share: -0.25 });
    expect(actOf({ ...shift, key: 'ArrowRight' })).toEqual({ kind: 'shift', share: 0.25 });
    expect(actOf({ ...shift, key: '+' })).toEqual({ kind: 'stretch', times: 0.5 });
    expect(actOf({ ...event, ctrlKey: true, key: '+' })).toBeNull();
  });
});
