// SPDX-License-Identifier: GPL-2.0-or-later

/** Timeout; the screen may still be loading. */
const SEEK_MS = 10_000;

const matching = (scope: ParentNode, selector: string, text: string): HTMLElement | undefined =>
  [...scope.querySelectorAll<HTMLElement>(selector)].find(
    (each) => each.textContent.trim() === text,
  );

/**
 * Returns the control with the label; otherwise the panel with that heading, or a labelled value.
 */
export function labelled(scope: ParentNode, text: string): HTMLElement | undefined {
  const label = matching(scope, 'label', text);
  const control = label instanceof HTMLLabelElement ? label.control : null;
  return control ?? matching(scope, 'h2, legend, .label', text) ?? headed(scope, text);
}

function headed(scope: ParentNode, text: string): HTMLElement | undefined {
  const begins = (each: HTMLElement) => each.firstChild?.textContent?.trim() === text;
  return [...scope.querySelectorAll<HTMLElement>('h2')].find(begins);
}

function show(target: HTMLElement): void {
  if (target.tabIndex < 0) target.tabIndex = -1;
  let closed = target.closest('details');
  while (closed) {
    closed.open = true;
    closed = closed.parentElement?.closest('details') ?? null;
  }
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: 'center' });
}

/**
 * Waits until `find` returns an element in `scope`, and focuses it. A key or click aborts the wait.
 */
export function seek(scope: HTMLElement, find: (scope: HTMLElement) => HTMLElement | undefined) {
  const end = new AbortController();
  const { signal } = end;
  const look = () => {
    const target = find(scope);
    if (!target) return;
    end.abort();
    show(target);
  };
  const observer = new MutationObserver(look);
  const stop = () => end.abort();
  signal.addEventListener('abort', () => observer.disconnect());
  observer.observe(scope, { childList: true, subtree: true });
  // Delayed, because the key event that chose the entry has not reached the window yet.
  const begin = setTimeout(() => {
    window.addEventListener('pointerdown', stop, { signal });
    window.addEventListener('keydown', stop, { signal });
  });
  const timer = setTimeout(stop, SEEK_MS);
  signal.addEventListener('abort', () => {
    clearTimeout(begin);
    clearTimeout(timer);
  });
  look();
}
