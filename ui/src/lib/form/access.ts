// SPDX-License-Identifier: GPL-2.0-or-later

import type { Access } from './change.svelte';
import { f, maybe } from './messages';

function zone(name: string): string {
  if (name === '') return f('exposes.router');
  return name === '*' ? f('exposes.every') : f('exposes.zone', { zone: name });
}

export function sentenceOf({ code, from, to, ports, name, text }: Access): string {
  const target = code === 'port' ? to : zone(to);
  const known = { from: zone(from), to: target, ports: ports || f('access.all') };
  const sentence = maybe(`access.${code}`, known);
  if (!sentence) return text;
  return name ? f('access.named', { text: sentence, name }) : sentence;
}
