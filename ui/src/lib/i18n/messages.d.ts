// SPDX-License-Identifier: GPL-2.0-or-later

/** Made by build/messages.ts from the catalogues. */
declare module 'virtual:messages' {
  import type { Messages } from './t';
  export const languages: Record<string, () => Promise<Messages>>;
  export const lateParts: Record<string, () => Promise<Messages>>;
}
