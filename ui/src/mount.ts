// SPDX-License-Identifier: GPL-2.0-or-later

import { mount as mountComponent, unmount } from 'svelte';
import AppView from './App.svelte';
import { yieldToBrowser } from './lib/live/pause';
import { App, type AppOptions } from './lib/shell/app.svelte';
import { adoptSheet } from './lib/shell/sheets';

export type { AppOptions };

export interface Mounted {
  unmount(): Promise<void>;
  dress(dark: boolean): void;
}

/**
 * Mounts the app and its style in `target` once its messages are loaded. Host pages pass a shadow
 * root, so that the styles of both pages do not affect each other.
 *
 * @throws if the messages cannot be fetched
 */
export async function mount(
  target: HTMLElement | ShadowRoot,
  sheet: CSSStyleSheet,
  options: AppOptions = {},
): Promise<Mounted> {
  const root = target instanceof ShadowRoot ? target : document;
  const app = new App(options, root);
  await app.language.load();
  await yieldToBrowser();
  const removeSheet = adoptSheet(root, sheet);
  const view = mountComponent(AppView, { target, props: { app } });
  return {
    async unmount() {
      app.route.leave();
      await unmount(view);
      removeSheet();
    },
    dress: (dark) => app.theme.dress(dark),
  };
}
