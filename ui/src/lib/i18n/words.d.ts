// SPDX-License-Identifier: GPL-2.0-or-later

/** Made by build/words.ts from the catalogues. */
declare module 'virtual:words' {
  import type { Words } from './t';
  export const languages: Record<string, () => Promise<Words>>;
}
