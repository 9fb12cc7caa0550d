// SPDX-License-Identifier: GPL-2.0-or-later
// Names that hosts of the LAN have given themselves.
import { expect, open, rowOf, test } from './fixture';
import { hosts } from './lab';

const LEASES = '/tmp/dhcp.leases';

/** The lease of h10 with another name, as a DHCP server writes it that passes on any. */
const named = (name: string) =>
  `1900000000 52:54:00:02:00:01 10.10.10.10 ${name.replaceAll(/[\\$"`]/g, '\\$&')} *`;

const markup = '<img/src=x/onerror=alert(1)>"\'><script>alert(2)</script>{n}';
const names = [
  markup,
  // 253 characters, in labels of one.
  `${'a.'.repeat(126)}a`,
  `x${'W'.repeat(250)}`,
];

test(
  'a host’s name is text, however it is written',
  { tag: ['@core', '@fault:dhcp-names'] },
  async ({ page, lan, router }) => {
    page.on('dialog', (dialog) => {
      throw new Error(`the page asked: ${dialog.message()}`);
    });
    const port = await lan.download(hosts.isp);
    await router.run(`cp ${LEASES} /run/e2e/leases`);
    try {
      await open(page, 'flows');
      const row = rowOf(page, port);
      await expect(row).toBeVisible();
      for (const name of names) {
        await router.run(`printf '%s\\n' "${named(name)}" >${LEASES}`);
        await expect(row).toContainText(name.slice(0, 20));
        await expect(page.locator('main img, main script')).toHaveCount(0);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(width, name).toBeLessThanOrEqual(1280);
      }
      // A name with marks that turn the text around it is not shown at all.
      await router.run(`printf '%s\\n' "${named('\u202Egpj.exe')}" >${LEASES}`);
      await expect(row).not.toContainText(names[2] ?? '');
      await expect(row).not.toContainText('gpj.exe');
    } finally {
      await router.run(`mv /run/e2e/leases ${LEASES}`);
    }
  },
);
