// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Page } from '@playwright/test';
import { replay } from './replay';
import { entered, screens, shown } from './screens';

test.use({ locale: 'en-GB' });

async function open(page: Page, screen: string): Promise<void> {
  await replay(page, (answers) => {
    for (const key of Object.keys(answers).filter((each) => each.startsWith('session access '))) {
      answers[key] = { result: [0, { access: false }] };
    }
  });
  await entered(page);
  await page.goto(`#/${screens[screen] ?? screen}`);
  await shown(page);
}

for (const screen of Object.keys(screens)) {
  test(`a viewer reads text instead of disabled controls on ${screen}`, async ({ page }) => {
    await open(page, screen);
    await expect(page.locator('main :is(input, select, textarea):disabled')).toHaveCount(0);
  });
}

test('a viewer reads the values', async ({ page }) => {
  await open(page, 'fastpath');
  const engine = page.getByRole('region', { name: 'Engine' });
  await expect(engine).toContainText(/Engine\s*Flowtable/);
  await page.goto('#/firewall');
  const iot = page.getByRole('row', { name: /^iot/ });
  await expect(iot).toContainText('iot may open connections to wan: Yes');
  await expect(iot).toContainText('iot may open connections to lan: No');
  await page.goto('#/network');
  const ports = page.getByRole('table', { name: 'Ports and VLANs of br-lan' });
  await expect(ports).toContainText('lan1, VLAN 10: untagged');
});
