// SPDX-License-Identifier: GPL-2.0-or-later
import type { Environment } from 'vitest/runtime';

/**
 * Vitest environment that uses Svelte's client build. In the server build, derived values are
 * recomputed at each read and effects never run, which hides state that outlives its component.
 * Unit tests render nothing, so there is no document.
 */
const environment: Environment = {
  name: 'browser',
  viteEnvironment: 'client',
  setup: () => ({ teardown: () => undefined }),
};

export default environment;
