// SPDX-License-Identifier: GPL-2.0-or-later
import { mount } from './app';

const target = document.getElementById('fastpath');
if (target) {
  // Untranslated, because the catalogue could not be loaded.
  const broken = 'This page could not be loaded from the router. Reload it.';
  mount(target).catch(() => (target.textContent = broken));
}
