// SPDX-License-Identifier: GPL-2.0-or-later
import { declare } from '../shell';

declare(import.meta.dirname);
