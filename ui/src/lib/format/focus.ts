// SPDX-License-Identifier: GPL-2.0-or-later

/** Also as an attachment: the first field of a form that opens has the focus; without a field that
 * can have it, the heading, if that can. */
export function focusFirst(form: Element): void {
  const field = form.querySelector<HTMLElement>(':is(input, select, textarea):enabled');
  (field ?? form.querySelector<HTMLElement>(':is(h2, h3)[tabindex]'))?.focus();
}

/** As an attachment: details that are open at first. The reader folds them. An attribute `open`
 * with a value is set again with any other attribute, and folds details that the reader opened. */
export function unfolded(details: HTMLDetailsElement): void {
  details.open = true;
}
