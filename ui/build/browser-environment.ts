// SPDX-License-Identifier: GPL-2.0-or-later
import type { Environment } from 'vitest/runtime';

/**
 * Runes as the browser has them: made for a server, a derived value is computed anew at each look
 * and an effect never runs, so a test could not see what outlives its component. There is no
 * document: unit tests draw nothing.
 */
const environment: Environment = {
  name: 'browser',
  viteEnvironment: 'client',
  setup: () => ({ teardown: () => undefined }),
};

export default environment;
