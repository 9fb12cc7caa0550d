// SPDX-License-Identifier: GPL-2.0-or-later

import { regional, setLocale } from '../format/locale';
import { known, setLanguage } from '../i18n/t';

const STORED = 'fastpath.language';

/** Returns the name of a language in that language. */
export const languageName = (tag: string): string =>
  new Intl.DisplayNames(tag, { type: 'language' }).of(tag) ?? tag;

/** The page's language: the host page's, the user's choice, the browser's, or English. */
export class Language {
  tag = $state('en');
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

  /** Loads the catalogue, which the page needs for its first message. */
  async load(): Promise<void> {
    await this.use(this.wanted).catch((fault: unknown) => {
      if (this.wanted === 'en') throw fault;
      return this.use('en');
    });
  }

  /** Stores the user's choice. If the catalogue cannot be fetched, the language does not change. */
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
