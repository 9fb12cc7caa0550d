// SPDX-License-Identifier: GPL-2.0-or-later

/** Requests per second, and a burst that opens a screen without delay. */
const PER_SECOND = 3;
const BURST = 6;

/**
 * Token bucket for the page's requests. `turn()` resolves when the next request may be sent.
 * Aborted turns take no token, so scrolling through a table does not queue outdated requests.
 */
export class RequestPace {
  private tokens = BURST;
  private filledAt: number;
  private queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly sleep: (ms: number) => Promise<void> = (ms) =>
      new Promise((resolve) => setTimeout(resolve, ms)),
  ) {
    this.filledAt = now();
  }

  turn(signal?: AbortSignal): Promise<void> {
    const mine = this.queue.then(() => this.take(signal));
    this.queue = mine.catch(() => undefined);
    return mine;
  }

  private async take(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.fill();
    if (this.tokens < 1) {
      await this.sleep(((1 - this.tokens) / PER_SECOND) * 1000);
      signal?.throwIfAborted();
      this.fill();
    }
    this.tokens = Math.max(0, this.tokens - 1);
  }

  private fill(): void {
    const now = this.now();
    this.tokens = Math.min(BURST, this.tokens + ((now - this.filledAt) / 1000) * PER_SECOND);
    this.filledAt = now;
  }
}
