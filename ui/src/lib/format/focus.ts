// SPDX-License-Identifier: GPL-2.0-or-later

/** As an attachment: the first field of a form that opens has the focus. */
export function focusFirst(form: Element): void {
  form.querySelector<HTMLElement>('input, select, textarea')?.focus();
}
