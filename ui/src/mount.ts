// SPDX-License-Identifier: GPL-2.0-or-later
import { mount as mountComponent, unmount } from 'svelte';
import './app.css';
import AppView from './App.svelte';
import { setNumberLocale } from './lib/format/units';
import { setLanguage } from './lib/i18n/t';
import type { AppOptions } from './lib/shell/app.svelte';

export type { AppOptions };

/**
 * Puts the app into `target` and answers a function that takes it out again. The host page links
 * `style.css` itself; every rule in it applies below `.fastpath` only.
 */
export function mount(target: HTMLElement, options: AppOptions = {}): () => Promise<void> {
  const language = setLanguage(options.lang, ...navigator.languages);
  setNumberLocale(language);
  const app = mountComponent(AppView, { target, props: { options } });
  return () => unmount(app);
}
