// SPDX-License-Identifier: GPL-2.0-or-later
import type { Environment } from 'vitest/runtime';

/**
 * Runes as in the browser. Compiled for a server, a derived value is recomputed at each read and
 * an effect never runs, so a test could not see what outlives its component. There is no
 * document: unit tests draw nothing.
 */
const environment: Environment = {
  name: 'browser',
  viteEnvironment: 'client',
  setup: () => ({ teardown: () => undefined }),
};

export default environment;
