// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestInfo } from '@playwright/test';

/** The folders of the labs that the tests have; each worker has one of its own. */
export const labs = (process.env['LABS'] ?? '').split(':').filter(Boolean);

/** This worker's. */
export function ownLab(): string | undefined {
  return labs[Number(process.env['TEST_PARALLEL_INDEX'] ?? 0)];
}

/** Whether this worker's lab is one user-mode machine, whose ports are all virtual. */
export function userMode(): boolean {
  const lab = ownLab();
  return !!lab && /^MACHINE=uml$/m.test(readFileSync(join(lab, 'ports'), 'utf8'));
}

/** Why the test is left out in this worker's lab: a user-mode machine lacks a feature for it. */
export function leftOut(info: Pick<TestInfo, 'tags' | 'annotations'>): string | undefined {
  if (!info.tags.includes('@qemu') || !userMode()) return undefined;
  return info.annotations.find((each) => each.type === 'qemu')?.description ?? 'needs QEMU';
}

/** The environment in which the lab's verbs act on it. */
export function inOwnLab(): NodeJS.ProcessEnv {
  // Playwright colours its output, and many programs do where CI is set: tests read plain text.
  const env = { ...process.env, FORCE_COLOR: undefined, NO_COLOR: '1' };
  return { ...env, LAB_RUN: ownLab() ?? process.env['LAB_RUN'] };
}

/** The address of its page. */
export function page(): string {
  const lab = ownLab();
  if (!lab) throw new Error('no lab is running');
  const port = /^GW_HTTP=(\d+)$/m.exec(readFileSync(join(lab, 'ports'), 'utf8'))?.[1];
  if (!port) throw new Error(`${lab} says no port of the page`);
  return `http://127.0.0.1:${port}/fastpath/`;
}
