// SPDX-License-Identifier: GPL-2.0-or-later
/** Waits for a time, or for the browser to draw. */

/** Waits for a time, or until the signal aborts. */
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

/** Lets the browser draw and handle input: long work would make the page hang. */
export const breath = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Calls back once the browser has drawn the current state. Returns a function that cancels it. */
export function onceDrawn(call: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const frame = requestAnimationFrame(() => (timer = setTimeout(call)));
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}
