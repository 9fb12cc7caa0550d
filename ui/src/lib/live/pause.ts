// SPDX-License-Identifier: GPL-2.0-or-later

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

/** Yields to the browser between long tasks, so that it can draw and handle input. */
export const yieldToBrowser = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Calls back after the next frame. Returns a function that cancels the call. */
export function onceDrawn(call: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const frame = requestAnimationFrame(() => (timer = setTimeout(call)));
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}
