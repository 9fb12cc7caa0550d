// SPDX-License-Identifier: GPL-2.0-or-later
// Unit tests speak English, as the page does once its words are there.
import { setLanguage } from './t';

await setLanguage('en');
