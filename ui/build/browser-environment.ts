// SPDX-License-Identifier: GPL-2.0-or-later
import type { Environment } from 'vitest/runtime';

/**
 * Vitest environment with browser runes. In a server build, derived values are recomputed at each
 * read and effects never run, which hides state that outlives its component. There is no document
 * because unit tests render nothing.
 */
const environment: Environment = {
  name: 'browser',
  viteEnvironment: 'client',
  setup: () => ({ teardown: () => undefined }),
};

export default environment;
