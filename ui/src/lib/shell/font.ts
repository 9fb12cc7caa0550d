// SPDX-License-Identifier: GPL-2.0-or-later
/** The font of the page, which looks the same on every system. */

import latin from '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2?url';

/** Name in `base.css`; the system or a host page may have another font named Inter. */
const FAMILY = 'fastpath-inter';

/**
 * Fetches the font before the first screen is shown, because its lines would move otherwise. Added
 * to the document, because a shadow root has no fonts of its own.
 */
export async function loadFont(): Promise<void> {
  if ([...document.fonts].some(({ family }) => family === FAMILY)) return;
  const face = new FontFace(FAMILY, `url("${latin}")`, { weight: '100 900' });
  document.fonts.add(face);
  // If the font is missing, the system's font is used.
  await face.load().catch(() => document.fonts.delete(face));
}
