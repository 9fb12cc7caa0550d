// SPDX-License-Identifier: GPL-2.0-or-later
/** Waiting: for a time, for the browser to draw, or until a condition holds (asked every
 * second). */

/** Waits, or less when the signal comes first. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}

/** Lets the browser draw and answer before more is done: long work is felt as a page that hangs. */
export const breath = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Calls back when the browser has drawn the current state. Returns a function that cancels it. */
export function onceDrawn(call: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const frame = requestAnimationFrame(() => (timer = setTimeout(call)));
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

/** Asks once a second, and answers whether it was so before the time was over. */
export async function until(met: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  for (;;) {
    if (await met()) return true;
    if (performance.now() >= end) return false;
    await pause(1000, new AbortController().signal);
  }
}
