// SPDX-License-Identifier: GPL-2.0-or-later
/** The font of the page, so that it looks alike on every system. */

import latin from '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2?url';

/** As `base.css` names it: a font of the system or of a host page may be called Inter. */
const FAMILY = 'fastpath-inter';

/**
 * Fetches the font, for which the first screen waits: its lines would move. A shadow root has the
 * fonts of its document only.
 */
export async function loadFont(): Promise<void> {
  if ([...document.fonts].some(({ family }) => family === FAMILY)) return;
  const face = new FontFace(FAMILY, `url("${latin}")`, { weight: '100 900' });
  document.fonts.add(face);
  // Without it the system's font stays.
  await face.load().catch(() => document.fonts.delete(face));
}
