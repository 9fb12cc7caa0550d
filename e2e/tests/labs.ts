// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestInfo } from '@playwright/test';

export const labs = (process.env['LABS'] ?? '').split(':').filter(Boolean);

export function ownLab(): string | undefined {
  return labs[Number(process.env['TEST_PARALLEL_INDEX'] ?? 0)];
}

/** Returns whether this worker's lab is a user-mode machine, whose ports are all virtual. */
export function userMode(): boolean {
  const lab = ownLab();
  return !!lab && /^MACHINE=uml$/m.test(readFileSync(join(lab, 'ports'), 'utf8'));
}

/** Returns the reason to skip a test that needs an emulated machine; undefined if it can run. */
export function leftOut(info: Pick<TestInfo, 'tags' | 'annotations'>): string | undefined {
  if (!info.tags.includes('@qemu') || !userMode()) return undefined;
  return info.annotations.find((each) => each.type === 'qemu')?.description ?? 'needs QEMU';
}

export function inOwnLab(): NodeJS.ProcessEnv {
  // Disable colours, which Playwright and CI enable.
  const env = { ...process.env, FORCE_COLOR: undefined, NO_COLOR: '1' };
  return { ...env, LAB_RUN: ownLab() ?? process.env['LAB_RUN'] };
}

export function page(): string {
  const lab = ownLab();
  if (!lab) throw new Error('no lab is running');
  const port = /^GW_HTTP=(\d+)$/m.exec(readFileSync(join(lab, 'ports'), 'utf8'))?.[1];
  if (!port) throw new Error(`${lab} says no port of the page`);
  return `http://127.0.0.1:${port}/fastpath/`;
}
