// SPDX-License-Identifier: GPL-2.0-or-later

/** Pseudo-random numbers by mulberry32. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), 1 | state);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns the elements shuffled by the seed, or unchanged without SHUFFLE. */
export function shuffled<T>(all: T[], seed = process.env['SHUFFLE']): T[] {
  if (!seed) return all;
  const next = random(Number(seed));
  return all
    .map((each) => ({ each, at: next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ each }) => each);
}
