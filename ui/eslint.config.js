// SPDX-License-Identifier: GPL-2.0-or-later
import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';
import svelteConfig from './svelte.config.js';

const derived = "CallExpression:matches([callee.name='$derived'], [callee.object.name='$derived'])";
const effect =
  "CallExpression:matches([callee.name='$effect'], [callee.object.name='$effect'][callee.property.name='pre'])";

/**
 * A store may outlive the component that first requested it. A derived value of that component then
 * keeps its last value (Svelte's warning `derived_inert`).
 */
const outliving = {
  derived: 'may outlive the component that owns it; use a getter',
  effect: 'may outlive the component that owns it; move it to a function that a component calls',
};

export default ts.config(
  { ignores: ['dist/', 'node_modules/', 'src/lib/api/types*.ts'] },
  js.configs.recommended,
  ...ts.configs.strict,
  ...svelte.configs.recommended,
  prettier,
  ...svelte.configs.prettier,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.node } },
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'no-console': 'error',
      // TypeScript checks names, and knows browser types that ESLint does not.
      'no-undef': 'off',
    },
  },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: {
      parserOptions: { parser: ts.parser, extraFileExtensions: ['.svelte'], svelteConfig },
    },
    rules: {
      'svelte/no-at-html-tags': 'error',
      // The content security policy refuses style attributes but not the directive `style:`.
      'no-restricted-syntax': [
        'error',
        {
          selector: "SvelteAttribute[key.name='style']",
          message: 'blocked by the policy: style:x',
        },
        {
          selector: `SvelteScriptElement:has([key.name='module']) ${derived}`,
          message: outliving.derived,
        },
        { selector: `ClassBody ${derived}`, message: outliving.derived },
        { selector: `ClassBody ${effect}`, message: outliving.effect },
      ],
      // URLSearchParams are replaced as a whole and never mutated.
      'svelte/prefer-svelte-reactivity': 'off',
      'svelte/no-target-blank': 'error',
      'svelte/button-has-type': 'error',
      'svelte/require-each-key': 'error',
    },
  },
  {
    files: ['**/*.svelte.ts'],
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: derived, message: outliving.derived },
        { selector: `ClassBody ${effect}`, message: outliving.effect },
        { selector: `Program > ExpressionStatement ${effect}`, message: outliving.effect },
      ],
    },
  },
  { files: ['scripts/**'], rules: { 'no-console': 'off' } },
);
