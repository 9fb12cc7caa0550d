// SPDX-License-Identifier: GPL-2.0-or-later
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keysOf, translated } from '../i18n/t';
import { panels, settings } from './settings';

const source = join(import.meta.dirname, '..');

/** Folders of screens with settings, and their catalogues with the headings. */
const folders: Record<string, string> = {
  cpu: 'cpu',
  export: 'export',
  fastpath: 'fastpath',
  firewall: 'firewall',
  network: 'network',
  system: 'system',
  wan: 'wan',
  wifi: 'wifi',
  'protection/setup': 'protection/setup',
};

/** Panels whose heading is also the label of an option, or has a parameter. */
const elsewhere = [
  ...['fastpath engine', 'fastpath latency', 'wan latency', 'wan setup'],
  ...['network matrix', 'network migrate.title'],
];
/** Panel of all inspection options, which have separate entries. */
const whole = ['protection/setup settings.title'];

describe('the settings that the search finds', () => {
  it('include the panels of every screen', () => {
    const known = panels.flatMap(({ catalogue, headings }) =>
      headings.map((heading) => `${catalogue} ${heading}`),
    );
    const shown = Object.entries(folders).flatMap(([folder, catalogue]) =>
      readdirSync(join(source, folder))
        .filter((file) => file.endsWith('.svelte'))
        .flatMap((file) => [
          ...readFileSync(join(source, folder, file), 'utf8').matchAll(
            /<Panel\s[^>]*heading=\{\w+\('([^']+)'/g,
          ),
        ])
        .map((match) => `${catalogue} ${match[1] ?? ''}`),
    );
    expect(shown.length).toBeGreaterThan(15);
    const missing = shown.filter((each) => ![...known, ...elsewhere, ...whole].includes(each));
    expect(missing).toEqual([]);
  });

  it('use existing headings', () => {
    for (const { catalogue, headings } of panels) {
      for (const heading of headings) {
        expect(translated(catalogue, heading), `${catalogue} ${heading}`).toBeTruthy();
      }
    }
  });

  it('include the options of the catalogue', () => {
    const labels = settings(true).map(({ screen, label }) => `${screen}: ${label}`);
    expect(labels).toContain('wan: MTU');
    expect(labels).toContain('protection: Never blocked');
    expect(labels).toContain('fastpath: Conntrack helpers');
    expect(labels).toContain('export: Observation domain');
    expect(labels).toContain('export: Hosts reported individually');
    expect(labels.length).toBeGreaterThan(50);
    expect(keysOf('form').length).toBeGreaterThan(100);
    // Labels exclude the texts of choices and hints.
    expect(labels.filter((each) => each.length > 60)).toEqual([]);
  });

  it('exclude administrators’ settings for viewers', () => {
    const labels = settings(false).map(({ screen, label }) => `${screen}: ${label}`);
    expect(labels).toContain('wan: MTU');
    expect(labels).toContain('protection: Rule sources');
    const written = ['health: Path MTU test', 'protection: Schedule', 'protection: Daily update'];
    const missing = [...written, 'fastpath: Maintenance', 'system: Reboot'];
    expect(labels.filter((each) => missing.includes(each))).toEqual([]);
    expect(settings(true).length).toBe(labels.length + missing.length + 1);
  });
});
