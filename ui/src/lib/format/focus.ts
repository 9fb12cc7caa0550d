// SPDX-License-Identifier: GPL-2.0-or-later

/** As an attachment: the first field of a form that opens has the focus. */
export function focusFirst(form: Element): void {
  form.querySelector<HTMLElement>('input, select, textarea')?.focus();
}

/** As an attachment: details that are open at first. The reader folds them. An attribute `open`
 * with a value is set again with any other attribute, and folds details that the reader opened. */
export function unfolded(details: HTMLDetailsElement): void {
  details.open = true;
}
