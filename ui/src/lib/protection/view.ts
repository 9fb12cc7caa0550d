// SPDX-License-Identifier: GPL-2.0-or-later

import type { AlertFilter } from '../api/types';

export const parts = ['now', 'policy', 'rules'] as const;
export type Part = (typeof parts)[number];

export interface View {
  part: Part;
  text: string;
  action: 'allowed' | 'blocked' | '';
  /** This severity or worse, where 1 is worst; 0 for all. */
  severity: number;
  address: string;
  sid: number;
  flow: number;
  /** Period, Unix ms; 0 without a limit. */
  from: number;
  to: number;
  /** Id of the alert in the panel; 0 if the panel is closed. */
  alert: number;
}

export type Change = (next: Partial<View>) => void;

export function readView(params: URLSearchParams): View {
  const word = (name: string) => params.get(name) ?? '';
  const number = (name: string) => Math.max(0, Number.parseInt(word(name), 10) || 0);
  const action = word('action');
  return {
    part: parts.find((part) => part === word('part')) ?? 'now',
    text: word('text').slice(0, 128),
    action: action === 'allowed' || action === 'blocked' ? action : '',
    severity: Math.min(number('severity'), 255),
    // All addresses of a device, separated by commas.
    address: word('address').slice(0, 640),
    sid: number('sid'),
    flow: number('flow'),
    from: number('from'),
    to: number('to'),
    alert: number('alert'),
  };
}

export function writeView(view: View): URLSearchParams {
  const params = new URLSearchParams();
  const { part, ...rest } = view;
  if (part !== 'now') params.set('part', part);
  for (const [name, value] of Object.entries(rest)) {
    if (value !== '' && value !== 0) params.set(name, String(value));
  }
  return params;
}

export function filterOf(view: View): AlertFilter {
  const { action, severity, address, sid, flow, from: from_ms, to: to_ms } = view;
  const text = view.text.trim();
  const all = { text, action, severity, address, sid, flow, from_ms, to_ms };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value)) as AlertFilter;
}

export const unfiltered = {
  text: '',
  action: '',
  severity: 0,
  address: '',
  sid: 0,
  flow: 0,
  from: 0,
  to: 0,
} as const;
