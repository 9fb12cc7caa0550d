// SPDX-License-Identifier: GPL-2.0-or-later
/** Copies text to the clipboard, also without TLS. */

/** Returns whether the text was copied. Browsers refuse it outside of a click or key press. */
export async function copy(text: string, near: Element): Promise<boolean> {
  // Browsers offer the clipboard API only in a secure context, and routers often have no TLS.
  if (window.isSecureContext) {
    const write = navigator.clipboard.writeText(text);
    return write.then(
      () => true,
      () => false,
    );
  }
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'hidden';
  // Next to the button because dialogs and shadow roots keep the focus inside.
  near.after(area);
  area.select();
  // The only interface that browsers offer without TLS.

  const done = document.execCommand('copy');
  area.remove();
  return done;
}
