// SPDX-License-Identifier: GPL-2.0-or-later
/** Icons of screens and groups, imported one by one because the set has 1,700. */

import type { Component } from 'svelte';
import ArrowLeftRight from '@lucide/svelte/icons/arrow-left-right';
import BrickWall from '@lucide/svelte/icons/brick-wall';
import Cable from '@lucide/svelte/icons/cable';
import Cpu from '@lucide/svelte/icons/cpu';
import Globe from '@lucide/svelte/icons/globe';
import HeartPulse from '@lucide/svelte/icons/heart-pulse';
import LayoutDashboard from '@lucide/svelte/icons/layout-dashboard';
import DatabaseArrowUp from '@lucide/svelte/icons/database-arrow-up';
import Network from '@lucide/svelte/icons/network';
import Server from '@lucide/svelte/icons/server';
import Settings from '@lucide/svelte/icons/settings';
import ShieldCheck from '@lucide/svelte/icons/shield-check';
import WandSparkles from '@lucide/svelte/icons/wand-sparkles';
import Zap from '@lucide/svelte/icons/zap';
import type { Group, Screen } from './route.svelte';

type Icon = Component<{ size?: number }>;

export const screenIcons: Record<Screen, Icon> = {
  overview: LayoutDashboard,
  flows: ArrowLeftRight,
  topology: Network,
  protection: ShieldCheck,
  wan: Globe,
  network: Cable,
  firewall: BrickWall,
  fastpath: Zap,
  cpu: Cpu,
  export: DatabaseArrowUp,
  health: HeartPulse,
  system: Server,
  wizard: WandSparkles,
};

export const groupIcons: Record<Group, Icon> = {
  overview: LayoutDashboard,
  traffic: ArrowLeftRight,
  security: ShieldCheck,
  settings: Settings,
};
