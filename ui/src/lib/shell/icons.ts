// SPDX-License-Identifier: GPL-2.0-or-later
/** Imported one by one, because the set has 1,700 icons. */

import type { Component } from 'svelte';
import ArrowLeftRight from 'lucide-static/icons/arrow-left-right.svg';
import BrickWall from 'lucide-static/icons/brick-wall.svg';
import Cable from 'lucide-static/icons/cable.svg';
import Cpu from 'lucide-static/icons/cpu.svg';
import Globe from 'lucide-static/icons/globe.svg';
import HeartPulse from 'lucide-static/icons/heart-pulse.svg';
import LayoutDashboard from 'lucide-static/icons/layout-dashboard.svg';
import MonitorSmartphone from 'lucide-static/icons/monitor-smartphone.svg';
import DatabaseArrowUp from 'lucide-static/icons/database-arrow-up.svg';
import Network from 'lucide-static/icons/network.svg';
import Server from 'lucide-static/icons/server.svg';
import Settings from 'lucide-static/icons/settings.svg';
import ShieldCheck from 'lucide-static/icons/shield-check.svg';
import WandSparkles from 'lucide-static/icons/wand-sparkles.svg';
import Zap from 'lucide-static/icons/zap.svg';
import type { Group, Screen } from './route.svelte';

type Icon = Component<{ size?: number }>;

export const screenIcons: Record<Screen, Icon> = {
  overview: LayoutDashboard,
  devices: MonitorSmartphone,
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
  devices: MonitorSmartphone,
  traffic: ArrowLeftRight,
  security: ShieldCheck,
  settings: Settings,
};
