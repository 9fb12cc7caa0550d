// SPDX-License-Identifier: GPL-2.0-or-later
/** The language of the page, and the user's choice of it. */

import { regional, setLocale } from '../format/locale';
import { known, setLanguage } from '../i18n/t';

const STORED = 'fastpath.language';

/** Returns the name of a language in that language, so that its speakers recognise it. */
export const languageName = (tag: string): string =>
  new Intl.DisplayNames(tag, { type: 'language' }).of(tag) ?? tag;

/** The language of the host page, or else of the user's choice, the browser or English. */
export class Language {
  tag = $state('en');
  /** The host page decides, so the user has no choice. */
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

  /** Fetches the catalogue, before which the page cannot show a message. */
  async load(): Promise<void> {
    await this.use(this.wanted).catch((fault: unknown) => {
      if (this.wanted === 'en') throw fault;
      return this.use('en');
    });
  }

  /** Stores the user's choice; if the catalogue cannot be fetched, keeps the present language. */
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
