// SPDX-License-Identifier: GPL-2.0-or-later

/** Attachment for a filter field: `/` focuses it, Escape clears it and then leaves it. */
export const filterKeys = (clear: () => void) => (field: HTMLInputElement) => {
  const outside = (event: KeyboardEvent) => {
    // From outside a shadow root, `event.target` would be the host element.
    const target = event.composedPath()[0];
    const typing = target instanceof Element && target.closest('input, select, textarea, dialog');
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
  };
  const inside = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    // Escape must not also close an open panel.
    event.stopPropagation();
    event.preventDefault();
    if (field.value === '') field.blur();
    else clear();
  };
  window.addEventListener('keydown', outside);
  field.addEventListener('keydown', inside);
  return () => {
    window.removeEventListener('keydown', outside);
    field.removeEventListener('keydown', inside);
  };
};
