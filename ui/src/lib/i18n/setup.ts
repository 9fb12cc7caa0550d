// SPDX-License-Identifier: GPL-2.0-or-later
// Unit tests run in English, as the page does with the English catalogue.
import { setLanguage } from './t';

await setLanguage('en');
