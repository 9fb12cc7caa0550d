// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test } from '@playwright/test';
import { violations } from '../browser/axe';
import { open } from './devices';
import { CONFIGS, resultOf } from './replay';

test.use({ locale: 'en-GB' });

const section = (name: string, type: string, values: object) => ({
  ...{ section: name, label: name, type, values },
  anonymous: false,
});
const SECTIONS = [
  section('radio0', 'wifi-device', { band: '5g', channel: '36', htmode: 'HE80', txpower: '23' }),
  section('home', 'wifi-iface', { device: 'radio0', network: 'lan', mode: 'ap', ssid: 'Home' }),
  section('guests', 'wifi-iface', { device: 'radio0', mode: 'ap', ssid: 'Guests', disabled: '1' }),
];
const RADIO = {
  ...{ name: 'radio0', band: '5g', up: true, modes: ['HE40', 'HE80'], features: [] },
  ssids: [
    {
      ...{ section: 'home', ssid: 'Home', device: 'phy0-ap0' },
      ...{ width_mhz: 40, txpower_dbm: 20, txpower_max_dbm: 23 },
    },
  ],
};

test('a radio has its measured state at once, and none before the answer', async ({ page }) => {
  await open(page, 'overview', ({ now_ms }, answers) => {
    resultOf<{ configs: Record<string, object> }>(answers, CONFIGS).configs['wireless'] = SECTIONS;
    answers['fastpath.wireless status {}'] = { result: [0, { radios: [RADIO] }] };
    const off = [{ ssid: 'Guests', state: 'schedule', until_ms: now_ms + 7_200_000 }];
    resultOf<Record<string, object>>(answers, 'fastpath status {}')['ssids_off'] = off;
  });
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route('**/ubus', async (route) => {
    if (route.request().postData()?.includes('"fastpath.wireless"')) await released;
    return route.fallback();
  });
  await page.goto('#/network');
  const wifi = page.getByRole('region', { name: 'Wi-Fi', exact: true });
  const state = wifi.locator('[data-radio=radio0] h3 span');
  await expect(wifi).toContainText('off by a schedule until 04:27');
  await expect(state).toHaveText('');
  release();
  await expect(state).toHaveText('running · 40 MHz, 20 dBm', { timeout: 2000 });
  await expect(wifi).toContainText('In use: 40 MHz instead of 80 MHz.');
  await expect(wifi).toContainText('At most 23 dBm on the channel in use.');
  expect(await violations(page)).toEqual([]);
});
