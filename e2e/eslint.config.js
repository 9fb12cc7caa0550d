// SPDX-License-Identifier: GPL-2.0-or-later
import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import globals from 'globals';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['node_modules/', 'standin/', 'lab/'] },
  js.configs.recommended,
  ...ts.configs.strict,
  prettier,
  {
    languageOptions: { globals: { ...globals.node } },
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      // TypeScript checks names, and knows the browser's types.
      'no-undef': 'off',
      'no-restricted-syntax': [
        'error',
        {
          selector: "CallExpression[callee.property.name='waitForTimeout']",
          message: 'Wait for a condition, not for a time.',
        },
      ],
    },
  },
  { files: ['**/*.mjs'], languageOptions: { globals: { ...globals.node } } },
);
