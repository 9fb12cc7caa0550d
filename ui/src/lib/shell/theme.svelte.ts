// SPDX-License-Identifier: GPL-2.0-or-later

export const schemes = ['system', 'light', 'dark'] as const;
export type Scheme = (typeof schemes)[number];

const STORED = 'fastpath.scheme';

/** Dark or light: the system's scheme unless the user or the host page has chosen one. */
export class Theme {
  scheme = $state<Scheme>('system');
  /** The host page decides, so the user has no choice. */
  readonly fixed: boolean;

  constructor(
    dark: boolean | undefined,
    private readonly storage: Pick<Storage, 'getItem' | 'setItem'>,
  ) {
    this.fixed = dark !== undefined;
    const stored = this.storage.getItem(STORED);
    if (dark !== undefined) this.dress(dark);
    else if (stored === 'light' || stored === 'dark') this.scheme = stored;
  }

  /** Stores the user's choice. */
  choose(scheme: Scheme): void {
    this.scheme = scheme;
    this.storage.setItem(STORED, this.scheme);
  }

  /** Applies the host page's scheme. */
  dress(dark: boolean): void {
    this.scheme = dark ? 'dark' : 'light';
  }
}
