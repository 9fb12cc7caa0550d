// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, open, rowOf, test } from './fixture';
import { hosts } from './lab';

const LEASES = '/tmp/dhcp.leases';
const KEPT = '/run/e2e/leases';

const shown = [
  `<img/src=x/onerror=alert(1)>"'><script>alert(2)</script>{n}`,
  `${'a.'.repeat(126)}a`,
  `x${'W'.repeat(250)}`,
];
/** Rejected names: terminal escapes, text direction, too long, and with a line break. */
const rejected = [
  '\u001b[2J\u001b[31mevil',
  '\u202Egpj.exe',
  'z'.repeat(254),
  'two *\n1900000000 52:54:00:02:00:01 10.10.10.10 \u0085evil',
];

test(
  'a host name is shown as text and never interpreted',
  { tag: ['@core', '@fault:dhcp-names'] },
  async ({ page, lan, router }) => {
    page.on('dialog', (dialog) => {
      throw new Error(`the page opened a dialog: ${dialog.message()}`);
    });
    /** Writes h10's lease with another name, as a DHCP server without checks would. */
    const named = (name: string) => {
      const line = `1900000000 52:54:00:02:00:01 10.10.10.10 ${name} *`;
      return router.run(`printf '%s\\n' '${line.replaceAll("'", `'\\''`)}' >${LEASES}`);
    };
    const fits = async (what: string) => {
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 640 });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect.soft(wide, `${what} at ${width} px`).toBeLessThanOrEqual(width);
      }
    };
    const port = await lan.download(hosts.isp);
    await router.run(`cp ${LEASES} ${KEPT}`);
    try {
      await open(page, 'flows');
      const row = rowOf(page, port);
      for (const name of shown) {
        await named(name);
        await expect(row).toContainText(name.slice(0, 20));
        await expect(page.locator('main img, main script')).toHaveCount(0);
        await fits(name.slice(0, 20));
        expect(await router.run('fastpathctl --json flows')).toContain(JSON.stringify(name));
      }
      for (const name of rejected) {
        await named('plain');
        await expect(row).toContainText('plain');
        await named(name);
        await expect(row).not.toContainText('plain');
        await expect(row).not.toContainText(/evil|gpj|zzz/);
        const listed = await router.run('fastpathctl flows');
        expect(listed, 'control characters').not.toMatch(/[^\n\t\P{Cc}]|\u202E/u);
        expect(listed, 'the name').not.toMatch(/evil|gpj|zzz/);
      }
    } finally {
      await router.run(`mv ${KEPT} ${LEASES}`);
    }
  },
);
