// SPDX-License-Identifier: GPL-2.0-or-later
import { mount } from './mount';

const target = document.getElementById('fastpath');
if (target) mount(target);
