// SPDX-License-Identifier: GPL-2.0-or-later
import { ESLint } from 'eslint';
import { expect, it } from 'vitest';

const eslint = new ESLint();

async function said(filePath: string, code: string): Promise<string[]> {
  const [result] = await eslint.lintText(code, { filePath });
  return (result?.messages ?? [])
    .filter(({ ruleId }) => ruleId === 'no-restricted-syntax')
    .map(({ message }) => message);
}

const store = 'src/lib/form/store.svelte.ts';
const screen = 'src/lib/form/Store.svelte';
const derived = 'may outlive the component that owns it; use a getter';
const effect =
  'may outlive the component that owns it; move it to a function that a component calls';

it('rejects state in a store whose owner is a component', { timeout: 300_000 }, async () => {
  const one = 'export class Draft { a = $state(1); b = $derived(this.a + 1); }';
  const many = 'export class Draft { a = $state(1); b = $derived.by(() => this.a + 1); }';
  const built = 'export class Draft { constructor() { $effect(() => undefined); } }';
  const top = 'let a = $state(1); const b = $derived(a); export const c = () => b;';
  expect(await said(store, one)).toEqual([derived]);
  expect(await said(store, many)).toEqual([derived]);
  expect(await said(store, top)).toEqual([derived]);
  expect(await said(store, built)).toEqual([effect]);
  expect(await said(screen, `<script lang="ts">${one}</script>`)).toEqual([derived]);
  expect(await said(screen, `<script lang="ts" module>${top}</script>`)).toEqual([derived]);
  const held = 'export class Draft { constructor() { $effect.root(() => undefined); } }';
  expect(await said(store, held)).toEqual([]);
  const ask = 'export function poll() { $effect(() => undefined); }';
  expect(await said(store, ask)).toEqual([]);
  expect(await said(screen, `<script lang="ts">${top.replace('export ', '')}</script>`)).toEqual(
    [],
  );
});
