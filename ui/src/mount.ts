// SPDX-License-Identifier: GPL-2.0-or-later
/** Mounts and unmounts the app in a document or in the shadow root of a host page. */

import { mount as mountComponent, unmount } from 'svelte';
import AppView from './App.svelte';
import { breath } from './lib/live/pause';
import { App, type AppOptions } from './lib/shell/app.svelte';
import { wear } from './lib/shell/sheets';

export type { AppOptions };

export interface Mounted {
  /** Removes the app with its requests, listeners and style sheets. */
  unmount(): Promise<void>;
  /** Applies the host page's dark or light scheme. */
  dress(dark: boolean): void;
}

/**
 * Mounts the app with its style in `target` once its messages are loaded. A host page passes a
 * shadow root, so that neither page's style affects the other. @throws if they cannot be fetched
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
