// SPDX-License-Identifier: GPL-2.0-or-later
/** Mounts the app in a document or in the shadow root of a host page: language, style sheet,
 * unmounting. */

import { mount as mountComponent, unmount } from 'svelte';
import AppView from './App.svelte';
import { breath } from './lib/live/pause';
import { App, type AppOptions } from './lib/shell/app.svelte';
import { wear } from './lib/shell/sheets';

export type { AppOptions };

export interface Mounted {
  /** Takes the app out again, with its requests, listeners and style sheets. */
  unmount(): Promise<void>;
  /** The host page has become dark or light. */
  dress(dark: boolean): void;
}

/**
 * Mounts the app with its style in `target`, once its messages are loaded. A host page passes a
 * shadow root, so that neither page's style affects the other. @throws when they cannot be fetched
 */
export async function mount(
  target: HTMLElement | ShadowRoot,
  sheet: CSSStyleSheet,
  options: AppOptions = {},
): Promise<Mounted> {
  const root = target instanceof ShadowRoot ? target : document;
  const app = new App(options, root);
  await app.language.load();
  await breath();
  const strip = wear(root, sheet);
  const view = mountComponent(AppView, { target, props: { app } });
  return {
    async unmount() {
      app.route.leave();
      await unmount(view);
      strip();
    },
    dress: (dark) => app.theme.dress(dark),
  };
}
