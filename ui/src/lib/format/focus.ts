// SPDX-License-Identifier: GPL-2.0-or-later

/** Focuses the first enabled field of a form, or its heading if it has none. Also an attachment. */
export function focusFirst(form: Element): void {
  const field = form.querySelector<HTMLElement>(':is(input, select, textarea):enabled');
  (field ?? form.querySelector<HTMLElement>(':is(h2, h3)[tabindex]'))?.focus();
}

/** Attachment that opens details once, so that the reader can fold them. A dynamic attribute `open`
 * is set again with any other attribute, which would undo the reader's choice. */
export function unfolded(details: HTMLDetailsElement): void {
  details.open = true;
}
