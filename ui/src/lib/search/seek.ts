// SPDX-License-Identifier: GPL-2.0-or-later
/** Moves the focus to a control or a panel of a screen that may still be loading. */

/** A screen that has not shown it by then does not have it. */
const SEEK_MS = 10_000;

const matching = (scope: ParentNode, selector: string, text: string): HTMLElement | undefined =>
  [...scope.querySelectorAll<HTMLElement>(selector)].find(
    (each) => each.textContent.trim() === text,
  );

/** The control with a label, else the heading of a panel, else the label of a value to read. */
export function labelled(scope: ParentNode, text: string): HTMLElement | undefined {
  const label = matching(scope, 'label', text);
  const control = label instanceof HTMLLabelElement ? label.control : null;
  return control ?? matching(scope, 'h2, legend, .label', text) ?? headed(scope, text);
}

/** A heading that has a number after its text. */
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
 * Waits until `find` has something in `scope`, and moves the focus there. A key or a press of the
 * user's ends the wait: they have gone on.
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
  // Later than the key that chose it, which the window has not received yet.
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
