// SPDX-License-Identifier: GPL-2.0-or-later

export const schemes = ['system', 'light', 'dark'] as const;
export type Scheme = (typeof schemes)[number];

const STORED = 'fastpath.scheme';

/** The colour scheme: the host page's, the user's choice or the system's. */
export class Theme {
  scheme = $state<Scheme>('system');
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

  choose(scheme: Scheme): void {
    this.scheme = scheme;
    this.storage.setItem(STORED, this.scheme);
  }

  dress(dark: boolean): void {
    this.scheme = dark ? 'dark' : 'light';
  }
}
