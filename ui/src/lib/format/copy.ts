// SPDX-License-Identifier: GPL-2.0-or-later
/** Copies text to the clipboard, also without TLS. */

/** Whether the text is in the clipboard. Called at a press: browsers refuse it at other times. */
export async function copy(text: string, near: Element): Promise<boolean> {
  // Browsers have the clipboard's API only in a secure context, and a router often has no TLS.
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
  // Next to the button: a dialog or a shadow root keeps the focus within.
  near.after(area);
  area.select();
  // Without TLS this is all that browsers offer.

  const done = document.execCommand('copy');
  area.remove();
  return done;
}
