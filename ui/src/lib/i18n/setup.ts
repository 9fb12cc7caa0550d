// SPDX-License-Identifier: GPL-2.0-or-later
// Unit tests run in English, like the page with the English catalogue.
import { vi } from 'vitest';
import { allParts, setLanguage } from './t';

// Test files share modules, so each starts with real timers and without stubs.
vi.useRealTimers();
vi.unstubAllGlobals();
await setLanguage('en');
await allParts();
