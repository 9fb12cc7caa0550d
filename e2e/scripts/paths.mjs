// SPDX-License-Identifier: GPL-2.0-or-later
// Checks that paths in docs/DESIGN.md and docs/design/ exist, and that relative links in Markdown
// pages lead to files and headings. PATHS_TOP selects another tree.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const TOP = process.env.PATHS_TOP ?? join(import.meta.dirname, '../..');
/** Abbreviated folders in the design pages. */
const SHORT = {
  bpf: 'feeds/fastpathd/src/bpf',
  crates: 'feeds/fastpathd/src/crates',
  schema: 'feeds/fastpathd/src/schema',
};
const ROOTS = ['docs', 'e2e', 'feeds', 'luci-app-fastpath', 'profiles', 'suricata-pkg', 'ui'];
const BUILT = ['ui/dist'];
const NAMED = /`((?:[\w.@-]+\/)+[\w.@-]*)`/g;

const pages = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
  cwd: TOP,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((path) => existsSync(join(TOP, path)));
const lines = (path) => readFileSync(join(TOP, path), 'utf8').split('\n');

function anchors(path) {
  return lines(path)
    .filter((line) => /^#{1,6} /.test(line))
    .map((line) => line.replace(/^#+ /, '').toLowerCase())
    .map((line) => line.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-'));
}

/** Expands a path in the design pages; undefined for paths outside the tree. */
function inTree(path) {
  const [root, ...rest] = path.split('/');
  if (root in SHORT) return join(SHORT[root], ...rest);
  return ROOTS.includes(root) && !BUILT.includes(path) ? path : undefined;
}

function missingPaths(page) {
  return lines(page).flatMap((line, at) =>
    [...line.matchAll(NAMED)]
      .map(([, path]) => [path, inTree(path)])
      .filter(([, path]) => path !== undefined && !existsSync(join(TOP, path)))
      .map(([path]) => `${page}:${at + 1}: there is no ${path}`),
  );
}

function brokenLinks(page) {
  let code = false;
  return lines(page).flatMap((line, at) => {
    if (line.startsWith('```')) code = !code;
    if (code) return [];
    return [...line.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link]) => {
      if (/^[a-z]+:/.test(link)) return [];
      const [path, anchor] = link.split('#');
      const target = path === '' ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(TOP, target))) return [`${page}:${at + 1}: there is no ${link}`];
      if (anchor === undefined || statSync(join(TOP, target)).isDirectory()) return [];
      if (anchors(target).includes(anchor)) return [];
      return [`${page}:${at + 1}: ${target} has no heading #${anchor}`];
    });
  });
}

const wrong = pages.flatMap((page) => [
  ...(/^docs\/(DESIGN\.md|design\/)/.test(page) ? missingPaths(page) : []),
  ...brokenLinks(page),
]);
if (wrong.length > 0) {
  console.log(wrong.join('\n'));
  process.exit(1);
}
