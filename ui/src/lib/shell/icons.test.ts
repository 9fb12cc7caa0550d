// SPDX-License-Identifier: GPL-2.0-or-later
import { render } from 'svelte/server';
import { expect, it } from 'vitest';
import Zap from 'lucide-static/icons/zap.svg';

it('renders a hidden icon in the requested size', () => {
  const { body } = render(Zap, { props: { size: 16 } });
  expect(body).toContain('width="16" height="16" aria-hidden="true"');
  expect(body).toContain('<path d="M');
});
