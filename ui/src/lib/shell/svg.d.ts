// SPDX-License-Identifier: GPL-2.0-or-later

/** Compiled by build/icons.ts. */
declare module 'lucide-static/icons/*.svg' {
  import type { Component } from 'svelte';
  const icon: Component<{ size?: number }>;
  export default icon;
}
