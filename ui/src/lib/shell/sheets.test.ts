// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, expect, it, vi } from 'vitest';

class Sheet {
  text = '';
  replaceSync(text: string) {
    this.text = text;
  }
}

const url = new URL('http://192.0.2.1/fastpath/style.css');
const fetched = vi.fn<typeof fetch>();

beforeEach(() => {
  vi.resetModules();
  vi.stubGlobal('CSSStyleSheet', Sheet);
  vi.stubGlobal('fetch', fetched);
  fetched.mockReset();
});

it('is fetched once for all mounted apps, with revalidation of the cache', async () => {
  const { fetchSheet } = await import('./sheets');
  fetched.mockResolvedValue(new Response('.button'));
  const [one, other] = await Promise.all([fetchSheet(url), fetchSheet(url)]);
  expect(one).toBe(other);
  expect(one).toMatchObject({ text: '.button' });
  expect(fetched.mock.calls).toEqual([[url, { cache: 'no-cache' }]]);
});

it('is fetched again after a failure', async () => {
  const { fetchSheet } = await import('./sheets');
  fetched.mockResolvedValueOnce(new Response('', { status: 404 }));
  fetched.mockResolvedValue(new Response('.button'));
  await expect(fetchSheet(url)).rejects.toThrow('/fastpath/style.css: HTTP 404');
  await expect(fetchSheet(url)).resolves.toMatchObject({ text: '.button' });
});

it("is removed without removing the host page's style sheets", async () => {
  const { adoptSheet } = await import('./sheets');
  const [theirs, ours] = [new CSSStyleSheet(), new CSSStyleSheet()];
  const root = { adoptedStyleSheets: [theirs] } as unknown as ShadowRoot;
  const strip = adoptSheet(root, ours);
  expect(root.adoptedStyleSheets).toEqual([theirs, ours]);
  strip();
  expect(root.adoptedStyleSheets).toHaveLength(1);
  expect(root.adoptedStyleSheets[0]).toBe(theirs);
});
