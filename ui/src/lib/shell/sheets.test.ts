// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, expect, it, vi } from 'vitest';

class Sheet {
  text = '';
  replaceSync(text: string) {
    this.text = text;
  }
}

const fetchPacked = vi.fn<() => Promise<string>>();
vi.mock('virtual:packed', () => ({ fetchPacked: () => fetchPacked() }));

beforeEach(() => {
  vi.resetModules();
  vi.stubGlobal('CSSStyleSheet', Sheet);
  fetchPacked.mockReset();
});

it('is fetched once for all places where the app is', async () => {
  const { fetchSheet } = await import('./sheets');
  fetchPacked.mockResolvedValue('.button');
  const [one, other] = await Promise.all([fetchSheet(), fetchSheet()]);
  expect(one).toBe(other);
  expect(one).toMatchObject({ text: '.button' });
  expect(fetchPacked).toHaveBeenCalledTimes(1);
});

it('is asked for again after it could not be had', async () => {
  const { fetchSheet } = await import('./sheets');
  fetchPacked.mockRejectedValueOnce(new Error('HTTP 404')).mockResolvedValue('.button');
  await expect(fetchSheet()).rejects.toThrow('HTTP 404');
  await expect(fetchSheet()).resolves.toMatchObject({ text: '.button' });
});

it('goes again without what the host page has there', async () => {
  const { wear } = await import('./sheets');
  const [theirs, ours] = [new CSSStyleSheet(), new CSSStyleSheet()];
  const root = { adoptedStyleSheets: [theirs] } as unknown as ShadowRoot;
  const strip = wear(root, ours);
  expect(root.adoptedStyleSheets).toEqual([theirs, ours]);
  strip();
  expect(root.adoptedStyleSheets).toHaveLength(1);
  expect(root.adoptedStyleSheets[0]).toBe(theirs);
});
