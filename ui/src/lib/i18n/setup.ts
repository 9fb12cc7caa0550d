// SPDX-License-Identifier: GPL-2.0-or-later
// Unit tests run in English, as the page does with the English catalogue.
import { vi } from 'vitest';
import { setLanguage } from './t';

// Test files share their modules, so each starts with real timers and no stubs.
vi.useRealTimers();
vi.unstubAllGlobals();
await setLanguage('en');
