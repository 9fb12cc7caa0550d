// SPDX-License-Identifier: GPL-2.0-or-later

import latin from '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2?url';

/** Name in `base.css`, because another font named Inter may be installed. */
const FAMILY = 'fastpath-inter';

/**
 * Loads the font before the first screen, whose lines would move otherwise. The font is added to
 * the document, because a shadow root has no fonts.
 */
export async function loadFont(): Promise<void> {
  if ([...document.fonts].some(({ family }) => family === FAMILY)) return;
  const face = new FontFace(FAMILY, `url("${latin}")`, { weight: '100 900' });
  document.fonts.add(face);
  await face.load().catch(() => document.fonts.delete(face));
}
