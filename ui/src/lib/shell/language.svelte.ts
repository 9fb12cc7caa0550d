// SPDX-License-Identifier: GPL-2.0-or-later
/** The language of the page: of the host page, else the user's choice, else the browser's, else
 * English. */

import { regional, setLocale } from '../format/locale';
import { known, setLanguage } from '../i18n/t';

const STORED = 'fastpath.language';

/** Each in its own language: the reader may not know the one that is shown. */
export const languageName = (tag: string): string =>
  new Intl.DisplayNames(tag, { type: 'language' }).of(tag) ?? tag;

/** The language of the page: the host page's, or the user's choice, or the browser's. */
export class Language {
  tag = $state('en');
  /** The host page decides; the user is not offered a choice. */
  readonly fixed: boolean;
  private readonly wanted: string;

  constructor(
    given: string | undefined,
    private readonly browser: readonly string[],
    private readonly storage: Pick<Storage, 'getItem' | 'setItem'>,
  ) {
    this.fixed = given !== undefined;
    const own = this.fixed ? [given] : [this.storage.getItem(STORED) ?? undefined, ...browser];
    this.wanted = known(...own);
  }

  /** Fetches the catalogue; the page waits for it before it shows any message. */
  async load(): Promise<void> {
    await this.use(this.wanted).catch((fault: unknown) => {
      if (this.wanted === 'en') throw fault;
      return this.use('en');
    });
  }

  /** The user's choice; the page keeps its language when the catalogue cannot be fetched. */
  async choose(tag: string): Promise<void> {
    await this.use(tag);
    this.storage.setItem(STORED, tag);
  }

  private async use(tag: string): Promise<void> {
    await setLanguage(tag);
    setLocale(regional(tag, this.browser));
    this.tag = tag;
  }
}
