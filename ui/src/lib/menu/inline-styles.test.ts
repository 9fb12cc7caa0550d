// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import { withoutInlineStyles } from '../../../build/inline-styles';

it('sets inline styles of libraries by script', () => {
  const markup = '<div class="a" style="display: contents; flex:1 1 0"><b style="">x</b></div>';
  expect(withoutInlineStyles(markup)).toBe(
    '<div class="a" style:display="contents" style:flex="1 1 0"><b>x</b></div>',
  );
});

it('keeps styles that are already set by script', () => {
  const markup = '<div style="width: {width}px" {style}><p style:color="red"></p></div>';
  expect(withoutInlineStyles(markup)).toBe(markup);
});
