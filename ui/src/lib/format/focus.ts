// SPDX-License-Identifier: GPL-2.0-or-later

/**
 * Focuses the first enabled field of a form, or its heading if there is none. Usable as an
 * attachment.
 */
export function focusFirst(form: Element): void {
  const field = form.querySelector<HTMLElement>(':is(input, select, textarea):enabled');
  (field ?? form.querySelector<HTMLElement>(':is(h2, h3)[tabindex]'))?.focus();
}

/**
 * Attachment that expands `<details>` once. A dynamic attribute `open` would be set again with any
 * other attribute, and undo the choice of the user.
 */
export function expandedOnce(details: HTMLDetailsElement): void {
  details.open = true;
}
