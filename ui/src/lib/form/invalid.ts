// SPDX-License-Identifier: GPL-2.0-or-later

/** Focuses the first invalid field, in view; returns `false` if there is none. */
export function focusInvalid(root: ParentNode): boolean {
  const field = root.querySelector<HTMLElement>('main [aria-invalid="true"]');
  if (!field) return false;
  for (let each = field.closest('details'); each; each = parentOf(each)) each.open = true;
  field.focus({ preventScroll: true });
  // Centred, because sticky elements would cover a field at the edge.
  field.scrollIntoView({ block: 'center' });
  return true;
}

const parentOf = (details: HTMLElement) => details.parentElement?.closest('details') ?? null;
