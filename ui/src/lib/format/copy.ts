// SPDX-License-Identifier: GPL-2.0-or-later

/**
 * Copies text to the clipboard, also without TLS; returns whether that worked. Browsers allow it
 * only during a click or key press.
 */
export async function copy(text: string, near: Element): Promise<boolean> {
  // The clipboard API needs a secure context, which a router without TLS is not.
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
  // Inserted next to the button, because dialogs and shadow roots keep the focus inside.
  near.after(area);
  area.select();
  // Deprecated, but the only way without TLS.

  const done = document.execCommand('copy');
  area.remove();
  return done;
}
