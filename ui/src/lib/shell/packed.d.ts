// SPDX-License-Identifier: GPL-2.0-or-later

/** Made by build/packed.ts from style sheets and templates. */
declare module 'virtual:packed' {
  /** Fetches both; answers the style, which the development server hands out by itself. */
  export const fetchPacked: () => Promise<string | undefined>;
}
