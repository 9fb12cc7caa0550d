// SPDX-License-Identifier: GPL-2.0-or-later

import { zoneOf } from './zone';
import type { Section } from '../form/sections';
import { changeOf } from '../form/change.svelte';
import { Question } from '../live/answer.svelte';
import { poll } from '../live/poll.svelte';
import type { App } from '../shell/app.svelte';

/** The router's time zone. Call this while a component is created. */
export function routerZone(app: App) {
  const question = new Question(async (signal) => {
    const reply = await changeOf(app).router.ask('get', { configs: ['system'] }, signal);
    const { system = [] } = reply['configs'] as { system?: Section[] };
    return { zone: zoneOf(system.find(({ type }) => type === 'system')) };
  });
  poll(app.live, 300_000, question.ask);
  return {
    /** `undefined` until it is known; times are in the browser's time zone then. */
    get zone() {
      return question.answer?.zone;
    },
    get known() {
      return question.answer !== null;
    },
  };
}
