// SPDX-License-Identifier: GPL-2.0-or-later

import type { App } from '../shell/app.svelte';
import { changeOf } from './change.svelte';
import { draftOf } from './opened.svelte';

/**
 * Makes edits and applies them without a review, if the draft has no others, and the router finds
 * that they are valid, disconnect nobody and open nothing. Otherwise they stay in the draft.
 *
 * @returns whether they are applied
 * @throws {Fault} if the router cannot be asked
 */
export async function atOnce(app: App, edit: () => void): Promise<boolean> {
  const [draft, change] = [draftOf(app), changeOf(app)];
  const alone = draft.edits.length === 0 && !change.pending && !change.busy;
  edit();
  const wanted = { edits: draft.edits };
  if (!alone || wanted.edits.length === 0) return false;
  const { problems, cuts, exposes = [] } = await change.check(wanted);
  const edited = JSON.stringify(draft.edits) !== JSON.stringify(wanted.edits);
  if (problems.length + cuts.length + exposes.length > 0 || edited) return false;
  const applied = draft.files;
  const reread = () => draft.loadAfter(applied).catch((fault: unknown) => app.live.report(fault));
  await change.apply(wanted, {}, '', { reread });
  return true;
}
