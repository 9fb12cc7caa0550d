// SPDX-License-Identifier: GPL-2.0-or-later

/** Brings the first field with a bad value into view, and the focus to it; whether there is one. */
export function focusInvalid(root: ParentNode): boolean {
  const field = root.querySelector<HTMLElement>('main [aria-invalid="true"]');
  if (!field) return false;
  for (let each = field.closest('details'); each; each = parentOf(each)) each.open = true;
  field.focus({ preventScroll: true });
  // Centred: sticky elements at the edges of the window would cover a field that is just in view.
  field.scrollIntoView({ block: 'center' });
  return true;
}

const parentOf = (details: HTMLElement) => details.parentElement?.closest('details') ?? null;
