// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import { violations } from './axe';
import { apply, applyDraft, cell, openReview, openSetup, waitConfirmed } from './change';
import { expect, test } from './fixture';

/** Two radios without a phy, as after OpenWrt's first boot: disabled, with open networks. */
const RADIOS = ['2g', '5g']
  .map(
    (band, i) => `config wifi-device 'radio${i}'
	option type 'mac80211'
	option path 'lab/veth'
	option band '${band}'
	option channel 'auto'
	option disabled '1'

config wifi-iface 'default_radio${i}'
	option device 'radio${i}'
	option network 'lan'
	option mode 'ap'
	option ssid 'OpenWrt'
	option encryption 'none'
`,
  )
  .join('\n');

const KEY = 'welcome, guests';

const wifi = (page: Page) => page.getByRole('region', { name: 'Wi-Fi', exact: true });

test.beforeEach(async ({ router }) => {
  const real = await router.run('[ -x /usr/libexec/lab/wireless ] && echo lab || echo OpenWrt');
  test.skip(!real.includes('lab'), 'OpenWrt’s own wireless handlers need its patched hostapd');
  await router.run(`cat >/etc/config/wireless <<'END'\n${RADIOS}END\n/etc/init.d/network reload`);
});

test.afterEach(async ({ router }) => {
  await router.run('rm -f /etc/board.json');
});

test('an SSID is a port of the matrix', { tag: '@core' }, async ({ page, router }) => {
  await openSetup(page, 'network');
  await wifi(page).getByLabel('Enable radio0').check();
  await wifi(page).getByLabel('Country').fill('de');
  await wifi(page).getByRole('button', { name: 'Add SSID' }).click();
  const form = page.getByRole('form', { name: 'New SSID' });
  await form.getByLabel('Name (SSID)').fill('Things');
  await form.getByLabel('Password').fill('short');
  await form.getByRole('button', { name: 'Add to draft' }).click();
  await expect(form.getByText('8 to 63 ASCII characters.')).toBeVisible();
  await form.getByLabel('Password').fill(KEY);
  await form.getByLabel('Radio').selectOption('radio0');
  await form.getByRole('button', { name: 'Add to draft' }).click();
  await expect(cell(page, 'Things', 10)).toHaveAttribute('data-member', 'u*');
  await cell(page, 'Things', 20).press('u');
  await expect(cell(page, 'Things', 10)).toHaveAttribute('data-member', '');
  const lines = (await openReview(page)).join('\n');
  expect(lines).toContain('Things');
  expect(lines).not.toContain(KEY);
  expect(await violations(page)).toEqual([]);
  await apply(page);
  await waitConfirmed(page);
  const point = () => router.run('bridge vlan show dev phy0-ap1');
  await expect.poll(point).toMatch(/20 PVID Egress Untagged/);
  await expect(router.run('cat /etc/config/wireless')).resolves.toContain(`option key '${KEY}'`);
  await expect(wifi(page).locator('[data-radio="radio0"] [data-state]')).toHaveText('running');
  await expect(wifi(page).locator('[data-radio="radio1"] [data-state]')).toHaveText('off');
  await page.getByRole('button', { name: 'Edit Things' }).click();
  const edit = page.getByRole('form', { name: 'Edit Things' });
  await expect(edit.getByLabel('Password')).toHaveValue('•••');
  await edit.getByRole('button', { name: 'Cancel' }).click();
  await page.goto('#/topology');
  await expect(page.locator('tr[data-device="phy0-ap1"]')).toContainText('Things');
});

test('a viewer sees SSIDs without keys and controls', async ({ page, router }) => {
  const reload = '/etc/init.d/network reload';
  await router.run(`sed -i "/ssid/a\\\\\toption key '${KEY}'" /etc/config/wireless; ${reload}`);
  const answers: string[] = [];
  page.on('response', (response) => {
    // A response in flight at the end of the test has no body.
    response.text().then(
      (text) => answers.push(text),
      () => undefined,
    );
  });
  await openSetup(page, 'network', 'viewer');
  await expect(wifi(page).locator('[data-ssid="OpenWrt"]').first()).toBeVisible();
  await expect(wifi(page).getByRole('button')).toHaveCount(0);
  await expect(wifi(page).getByText(/^Enable radio0: (on|off)$/i)).toBeVisible();
  await expect(wifi(page).locator('input, select')).toHaveCount(0);
  await expect.poll(() => answers.join('\n')).toContain('•••');
  expect(answers.join('\n')).not.toContain(KEY);
});

test('the wizard sets up Wi-Fi with guests in their VLAN', async ({ page, router }) => {
  const next = () => page.getByRole('button', { name: 'Next' }).click();
  await openSetup(page, 'wizard');
  await expect(page.getByText('1 of 6')).toBeVisible();
  await next();
  await next();
  await page.getByLabel('Guest network').check();
  await next();
  await expect(page.getByRole('heading', { name: 'Wi-Fi' })).toBeFocused();
  await page.getByLabel('Enable Wi-Fi').check();
  for (let i = 0; i < 2; i += 1) await next();
  await page.getByRole('button', { name: 'Review and apply' }).click();
  await expect(page.getByText('2 invalid values:')).toBeVisible();
  for (let i = 0; i < 2; i += 1) await page.getByRole('button', { name: 'Back' }).click();
  await expect(page.getByText('A value is required.')).toBeVisible();
  await page.getByLabel('Name (SSID)').fill('Home');
  await page.getByLabel('Password', { exact: true }).fill('the owner’s key');
  await expect(page.getByText('8 to 63 ASCII characters.')).toBeVisible();
  await page.getByLabel('Password', { exact: true }).fill("the owner's key");
  await page.getByLabel('Country').fill('DE');
  await page.getByLabel('Enable a guest SSID').check();
  await page.getByLabel('Guest password').fill(KEY);
  await expect(page.getByLabel('Guest network name')).toHaveValue('Home guests');
  await next();
  await next();
  await applyDraft(page);
  const vlan = (device: string) => router.run(`bridge vlan show dev ${device}`);
  await expect.poll(() => vlan('phy0-ap0')).toMatch(/10 PVID Egress Untagged/);
  for (const guests of ['phy0-ap1', 'phy1-ap1']) {
    await expect.poll(() => vlan(guests)).toMatch(/30 PVID Egress Untagged/);
  }
  const file = await router.run('cat /etc/config/wireless');
  expect(file.match(/option encryption 'sae-mixed'/g)).toHaveLength(4);
  expect(file.match(/option country 'DE'/g)).toHaveLength(2);
  expect(file).not.toContain("option disabled '1'");
});

test('width, power, roaming and schedules are drafted', async ({ page, router }) => {
  const radio = { path: 'lab/veth', info: { bands: { '2G': { modes: ['HT20', 'HT40'] } } } };
  const board = JSON.stringify({ wlan: { phy0: radio } });
  await router.run(`echo '${board}' >/etc/board.json`);
  await openSetup(page, 'network');
  const of = wifi(page).locator('[data-radio="radio0"]');
  await of.getByLabel('Channel width').selectOption('HT40');
  await of.getByLabel('Transmit power (dBm)').fill('17');
  await of.getByRole('button', { name: 'Edit OpenWrt' }).click();
  const form = page.getByRole('form', { name: 'Edit OpenWrt' });
  await form.getByLabel('Fast roaming (802.11r)').check();
  await form.getByRole('button', { name: 'Add to draft' }).click();
  const lines = (await openReview(page)).join('\n');
  for (const part of ['HT40', '17', 'ieee80211r']) expect(lines).toContain(part);
  await page.keyboard.press('Escape');
  await page.goto('#/devices');
  await page.getByRole('button', { name: 'Add schedule' }).click();
  await page.getByLabel('Add device, group or SSID …').selectOption('Wi-Fi OpenWrt');
  await expect(page.locator('[data-schedule="bedtime"] summary')).toContainText('OpenWrt');
});

for (const screen of ['network', 'wizard']) {
  test(`${screen} with radios is accessible, by keyboard and at 320 px`, async ({ page }) => {
    await openSetup(page, screen);
    if (screen === 'wizard') {
      for (let i = 0; i < 3; i += 1) await page.getByRole('button', { name: 'Next' }).click();
      await page.getByLabel('Enable Wi-Fi').focus();
      await page.keyboard.press('Space');
      await page.keyboard.press('Tab');
      await expect(page.getByLabel('Name (SSID)')).toBeFocused();
    } else {
      await page.getByRole('button', { name: 'Add SSID' }).focus();
      await page.keyboard.press('Enter');
      const form = page.getByRole('form', { name: 'New SSID' });
      await form.getByRole('button', { name: 'Cancel' }).focus();
      await page.keyboard.press('Enter');
      await expect(form).toBeHidden();
      await expect(page.getByRole('button', { name: 'Add SSID' })).toBeFocused();
      await page.keyboard.press('Enter');
    }
    for (const width of [1280, 320]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 640 });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect.soft(wide, `${width} px`).toBeLessThanOrEqual(width);
        expect.soft(await violations(page), `${width} px, ${colorScheme}`).toEqual([]);
        const path = process.env['WIFI_PICTURES'];
        const name = `${path}/${screen}-${width}-${colorScheme}.png`;
        if (path) await page.screenshot({ path: name, fullPage: true });
      }
    }
  });
}
