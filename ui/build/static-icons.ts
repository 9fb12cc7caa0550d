// SPDX-License-Identifier: GPL-2.0-or-later
import type { Plugin } from 'vite';

/** Icon data of `@lucide/svelte` 1.48: `node` has one element per line of the drawing. */
interface IconData {
  name: string;
  size: number;
  node: [element: string, attributes: Record<string, string>][];
}

const DATA = /^const iconData = (\{.*\});$/m;

const attributesOf = (all: Record<string, string>) =>
  Object.entries(all)
    .map(([name, value]) => ` ${name}="${value}"`)
    .join('');

/** Returns an icon's component as fixed markup with `size` as its only property. */
export function staticIcon(component: string): string {
  const data = DATA.exec(component)?.[1];
  if (data === undefined) throw new Error('this icon of @lucide/svelte has no iconData');
  const { name, size, node } = JSON.parse(data) as IconData;
  const lines = node.map(([element, attributes]) => `<${element}${attributesOf(attributes)} />`);
  const look = attributesOf({
    viewBox: `0 0 ${size} ${size}`,
    fill: 'none',
    stroke: 'currentColor',
    'stroke-width': '2',
    'stroke-linecap': 'round',
    'stroke-linejoin': 'round',
    class: `lucide lucide-${name}`,
    'aria-hidden': 'true',
  });
  return [
    `<script lang="ts">let { size = ${size} } = $props();</script>`,
    `<svg xmlns="http://www.w3.org/2000/svg" width={size} height={size}${look}>`,
    ...lines,
    '</svg>',
  ].join('\n');
}

/**
 * Replaces the components of `@lucide/svelte`, which build their elements one by one at mount and
 * took half of the time to the first paint. Fixed markup is cloned from a template.
 */
export function staticIcons(): Plugin {
  return {
    name: 'static-icons',
    enforce: 'pre',
    transform: {
      filter: { id: /\/node_modules\/@lucide\/svelte\/dist\/icons\/[\w-]+\.svelte$/ },
      handler: (component) => staticIcon(component),
    },
  };
}
