// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import type { Plugin } from 'vite';

/** Loads the SVG files of `lucide-static` as Svelte components with the property `size`. */
export function icons(): Plugin {
  return {
    name: 'icons',
    // Runs before Vite's loader, which would return the address of the SVG file.
    enforce: 'pre',
    load: {
      filter: { id: /\/lucide-static\/icons\/[\w-]+\.svg$/ },
      handler(file) {
        const svg = readFileSync(file, 'utf8')
          .replace('width="24"', 'width={size}')
          .replace('height="24"', 'height={size} aria-hidden="true"');
        return `<script lang="ts">let { size = 24 } = $props();</script>${svg}`;
      },
    },
  };
}
