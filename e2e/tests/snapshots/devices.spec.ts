// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test } from '@playwright/test';
import { violations } from '../browser/axe';
import { ANNA, draftLoaded, names, open, QUARTERS, row, verb } from './devices';
import { CONFIGS, resultOf } from './replay';
import { shown } from './screens';

test.use({ locale: 'en-GB' });

test('the list shows who uses the line now, and sorts and searches by keyboard', async ({
  page,
}) => {
  await open(page, 'devices');
  expect(await names(page)).toEqual(['h11', "Anna's phone", 'h20', 'Old tablet']);
  await expect(row(page, ANNA)).toContainText('10.10.10.10 +1 · children');
  await expect(row(page, '02:11:22:33:44:55')).toContainText('Paused');
  await expect(row(page, '52:54:00:02:00:02')).toContainText(/Offline\s*6 mins ago/);
  await expect(row(page, 'others')).toContainText('2.91 MB');
  const column = page.getByRole('columnheader', { name: 'Sent' });
  await column.getByRole('button').focus();
  await page.keyboard.press('Enter');
  await expect(column).toHaveAttribute('aria-sort', 'descending');
  expect((await names(page))[0]).toBe('h20');
  await page.keyboard.press('/');
  await expect(page.getByRole('searchbox', { name: 'Search devices' })).toBeFocused();
  await page.keyboard.type('52:54:00:02:00:01');
  await expect(page.locator('tr[data-device]')).toHaveCount(1);
  await expect(page).toHaveURL(/text=52/);
  await page.keyboard.press('Escape');
  await expect(page.locator('tr[data-device]')).toHaveCount(5);
});

test('rows keep their place while the pointer is on them', async ({ page }) => {
  const { answer } = await open(page, 'devices');
  const first = page.locator('tr[data-device]').first();
  await expect(first).toContainText('h11');
  await first.hover();
  for (const each of answer.devices) each.down_bps = each.name === 'h20' ? 9e6 : 0;
  await expect(row(page, '52:54:00:02:00:02')).toContainText('9.00 Mbit/s');
  await expect(first).toContainText('h11');
  await page.mouse.move(0, 0);
  await expect(first).toContainText('h20');
});

test('a schedule is added by keyboard', async ({ page }) => {
  const { asked } = await open(page, 'devices');
  const add = verb(page, 'Add schedule');
  await add.focus();
  await page.keyboard.press('Enter');
  const form = page.locator('details[open][data-schedule]');
  await expect(form.getByLabel('Enabled')).toBeFocused();
  await form.getByRole('textbox', { name: 'Name' }).fill('homework');
  await form.getByRole('checkbox', { name: 'Saturday' }).press('Space');
  await form.getByRole('checkbox', { name: 'Sunday' }).press('Space');
  await form.getByLabel('Pause at').fill('15:00');
  await form.getByLabel('Resume at').fill('17:30');
  await expect(form.getByText('On the next day')).toHaveCount(0);
  await form.getByRole('combobox').selectOption('Group children');
  await expect(form.locator('summary')).toContainText('Mon–Fri · 15:00–17:30 · children');
  await expect(
    form.getByRole('button', { name: 'Remove children from the schedule' }),
  ).toBeVisible();
  await verb(page, 'Review and apply').click();
  const values = {
    ...{ name: 'homework', from: '15:00', to: '17:30' },
    ...{ day: ['mon', 'tue', 'wed', 'thu', 'fri'], group: ['children'] },
  };
  const edit = expect.objectContaining({ config: 'fastpath', op: 'add', type: 'schedule', values });
  await expect.poll(() => asked.map((each) => JSON.parse(each) as unknown)).toEqual([[edit]]);
});

test('the last day of a schedule stays, because none means every day', async ({ page }) => {
  await open(page, 'devices');
  await page.locator('[data-schedule=bedtime] summary').click();
  const days = page.locator('[data-schedule=bedtime]').getByRole('checkbox', { name: /day$/ });
  for (const day of await days.all()) if (await day.isEnabled()) await day.uncheck();
  await expect(days.and(page.locator(':checked'))).toHaveCount(1);
  await expect(page.locator('[data-schedule=bedtime] summary')).not.toContainText('Every day');
});

const FIELD = /^Search screens/;

for (const [typed, focused] of [
  ['block anna', 'Pause 1 h'],
  ['fixed address anna', 'Reserve 10.10.10.10'],
  ['open port phone', 'Forward a port'],
] as const) {
  test(`the search finds “${typed}”`, async ({ page }) => {
    await open(page, 'overview');
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: FIELD });
    await expect(field).toBeFocused();
    await page.keyboard.type(typed);
    await expect(page.getByRole('option').first()).toContainText("Anna's phone");
    await page.keyboard.press('Enter');
    await expect(verb(page, focused)).toBeFocused();
  });
}

test('the search finds a device by name, address and MAC', async ({ page }) => {
  await open(page, 'overview');
  for (const typed of ['anna', '10.10.10.10', ANNA]) {
    await page.keyboard.press('Control+k');
    await expect(page.getByRole('combobox', { name: FIELD })).toBeFocused();
    await page.keyboard.type(typed);
    await page.getByRole('option', { name: /^Anna's phone/ }).click();
    await expect(page).toHaveURL(/devices\?mac=52%3A54%3A00%3A02%3A00%3A01/);
    await page.goto('#/overview');
    await shown(page);
  }
});

test('hosts of other screens lead to the device', async ({ page }) => {
  await open(page, 'overview');
  const host = page.getByRole('region', { name: 'Top hosts' }).getByRole('link');
  await expect(host).toHaveAttribute('href', /devices\?mac=52%3A54%3A00%3A02%3A00%3A03/);
  await page.goto('#/topology');
  const hosts = page.getByRole('region', { name: 'Hosts' });
  await expect(hosts.getByRole('link', { name: 'h10' })).toHaveAttribute('href', /devices\?mac/);
  // The administrator's machine at the router itself is not behind it.
  await expect(hosts.getByRole('link', { name: '10.0.2.2' })).toHaveAttribute(
    'href',
    /flows\?host/,
  );
});

test('its events do not link to its own page', async ({ page }) => {
  await open(page, `devices?mac=${ANNA}`, ({ now_ms }, answers) => {
    const events = ['joined', 'left'].map((change, id) => {
      return { id, at_ms: now_ms, kind: 'wifi', about: `${ANNA} ${change} ap1 Home`, name: 'anna' };
    });
    const key = 'fastpath journal {"limit":500}';
    answers[key] = { result: [0, { ...resultOf<object>(answers, key), events }] };
  });
  const events = page.getByRole('region', { name: 'History' });
  await expect(events).toContainText('anna joined Home');
  await expect(events.getByRole('link')).toHaveCount(0);
});

test('its flows are shown for all of its addresses', async ({ page }) => {
  await open(page, 'devices?mac=52:54:00:02:00:03');
  const link = page.getByRole('link', { name: 'Show its flows' });
  const host = encodeURIComponent('10.10.10.11,2001:db8:10::11');
  await expect(link).toHaveAttribute('href', `#/flows?host=${host}`);
});

test('the list shows what each device used today', async ({ page }) => {
  await open(page, 'devices', ({ now_ms }, answers) => {
    const usage = resultOf<Record<string, unknown>>(answers, QUARTERS);
    answers['fastpath usage {"step":"quarter"}'] = {
      result: [
        0,
        {
          ...usage,
          rows: [[now_ms - 900_000, 900, 1, 2, 0]],
          devices: [{ mac: ANNA, up_bytes: 1e6, down_bytes: 4e6, offloaded_bytes: 0 }],
        },
      ],
    };
  });
  await expect(row(page, ANNA).locator('.today')).toContainText('5.00 MB');
  await expect(row(page, '52:54:00:02:00:02').locator('.today')).toContainText('0 B');
  await page.getByRole('columnheader', { name: 'Today' }).getByRole('button').click();
  expect((await names(page))[0]).toBe("Anna's phone");
});

test('without a record, the bytes of today are unknown', async ({ page }) => {
  await open(page, 'devices', (_, answers) => {
    const usage = resultOf<Record<string, unknown>>(answers, QUARTERS);
    answers['fastpath usage {"step":"quarter"}'] = { result: [0, { ...usage, rows: [] }] };
  });
  await expect(row(page, ANNA).locator('.today')).toContainText('–');
  await expect(row(page, ANNA).locator('.today')).not.toContainText('B');
});

test('“until 07:00” is of the router’s time zone', async ({ page }) => {
  const { asked, answer } = await open(page, `devices?mac=${ANNA}`, (_, answers) => {
    const { configs } = resultOf<{ configs: Record<string, unknown> }>(answers, CONFIGS);
    const values = { zonename: 'Asia/Kolkata', timezone: 'IST-5:30' };
    configs['system'] = [{ section: 'system', type: 'system', anonymous: false, values }];
  });
  // The page shows all times in the browser's zone, here UTC.
  await verb(page, 'Pause until 01:30').click();
  await expect(page.getByText('Paused until 01:30.', { exact: true })).toBeVisible();
  const { until_s } = JSON.parse(asked[0]?.replace('pause ', '') ?? '') as { until_s: number };
  expect(new Date(until_s * 1000).toISOString()).toMatch(/T01:30:00/);
  expect(until_s * 1000 - answer.now_ms).toBeLessThan(86_400_000);
});

test('a device of an access point has its connection, whatever the name of the port', async ({
  page,
}) => {
  await open(page, `devices?mac=${ANNA}`, ({ devices }, answers) => {
    for (const each of devices) each['port'] = 'upstairs';
    const ssids = [
      { ssid: 'Home', device: 'upstairs', stations: [{ mac: ANNA, signal_dbm: -52 }] },
    ];
    answers['fastpath.wireless status {}'] = {
      result: [0, { radios: [{ name: 'radio0', ssids }] }],
    };
  });
  const facts = page.getByRole('region', { name: 'Device', exact: true });
  await expect(facts).toContainText('Home · -52 dBm');
});

test('viewers see devices without verbs', async ({ page }) => {
  await open(page, `devices?mac=${ANNA}`, (_, answers) => {
    for (const key of Object.keys(answers).filter((each) => each.startsWith('session access '))) {
      answers[key] = { result: [0, { access: false }] };
    }
  });
  await expect(page.getByRole('region', { name: 'Device', exact: true })).toContainText('Phone');
  await expect(page.locator('[data-verb]')).toHaveCount(0);
  await page.goto('#/devices');
  await expect(page.locator('[data-schedule=bedtime]')).toBeVisible();
  await expect(verb(page, 'Add schedule')).toHaveCount(0);
  await expect(page.locator('[data-verb]')).toHaveCount(0);
});

test('each kind of pause is said, and no device is said to be none', async ({ page }) => {
  const { answer } = await open(page, 'devices', ({ devices, now_ms }) => {
    const [one, two, three] = devices;
    if (!one || !two || !three) throw new Error('three devices');
    Object.assign(one, { paused: 'clock' });
    Object.assign(two, { paused: 'schedule', until_ms: now_ms + 7_200_000 });
    Object.assign(three, { paused: 'until', until_ms: now_ms + 600_000 });
  });
  const list = page.getByRole('region', { name: /^All devices/ });
  await expect(list).toContainText('Paused until the clock is set');
  await expect(list).toContainText('Paused by a schedule until 04:27');
  await expect(list).toContainText('Paused until 02:37');
  expect(await violations(page)).toEqual([]);
  answer.devices = [];
  await expect(list).toContainText('No device has sent anything through the router yet.');
  await page.goto(`#/devices?mac=${ANNA}`);
  await expect(page.getByText(`The router knows no device ${ANNA}.`)).toBeVisible();
});

test('without the daemon, the last devices stay, and no verb can be used', async ({ page }) => {
  await open(page, `devices?mac=${ANNA}`);
  await draftLoaded(page);
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    if (params[1] !== 'fastpath') return route.fallback();
    return route.fulfill({ json: { jsonrpc: '2.0', id, result: [7] } });
  });
  await expect(page.locator('[data-connection=absent]')).toBeVisible();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText("Anna's phone");
  for (const each of await page.locator('[data-verb]').all()) await expect(each).toBeDisabled();
});
