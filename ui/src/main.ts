// SPDX-License-Identifier: GPL-2.0-or-later
import { mount } from './app';

const target = document.getElementById('fastpath');
if (target) {
  // Without a catalogue there are no messages, so this text is fixed.
  const broken = 'This page could not be loaded from the router. Reload it.';
  mount(target).catch(() => (target.textContent = broken));
}
