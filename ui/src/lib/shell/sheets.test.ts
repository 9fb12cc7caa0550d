// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, expect, it, vi } from 'vitest';

class Sheet {
  text = '';
  replaceSync(text: string) {
    this.text = text;
  }
}

interface Root {
  adoptedStyleSheets: Sheet[];
}

async function sheets() {
  vi.resetModules();
  return (await import('./sheets')) as unknown as {
    adopt: (text: string, first: boolean) => void;
    wear: (root: Root) => () => void;
  };
}

const textsOf = (root: Root) => root.adoptedStyleSheets.map((sheet) => sheet.text);

beforeEach(() => void vi.stubGlobal('CSSStyleSheet', Sheet));

it('gives every root what there is and what comes later, the common rules first', async () => {
  const { adopt, wear } = await sheets();
  const root: Root = { adoptedStyleSheets: [] };
  adopt('.button.s1', false);
  adopt('.button', true);
  wear(root);
  adopt('.field.s2', false);
  expect(textsOf(root)).toEqual(['.button', '.button.s1', '.field.s2']);
});

it('takes only its own away again', async () => {
  const { adopt, wear } = await sheets();
  const theirs = new Sheet();
  theirs.replaceSync('.theirs');
  const root: Root = { adoptedStyleSheets: [theirs] };
  const strip = wear(root);
  adopt('.ours', false);
  expect(textsOf(root)).toEqual(['.theirs', '.ours']);
  strip();
  adopt('.late', false);
  expect(textsOf(root)).toEqual(['.theirs']);
});
