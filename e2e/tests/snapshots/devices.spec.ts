// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Page } from '@playwright/test';
import { violations } from '../browser/axe';
import { CONFIGS, replay, resultOf, type Recording } from './replay';
import { entered, shown } from './screens';

test.use({ locale: 'en-GB' });

const ANNA = '52:54:00:02:00:01';
const DEVICES = 'fastpath devices {}';
const QUARTERS = `fastpath usage {"mac":"${ANNA}","step":"quarter"}`;

interface Device {
  mac: string;
  name: string;
  paused: string;
  until_ms: number;
  group: string;
  down_bps: number;
  [field: string]: unknown;
}

interface Answer {
  now_ms: number;
  devices: Device[];
}

interface Opened {
  answer: Answer;
  /** Calls of `fastpath.device`, and edits sent to `check`. */
  asked: string[];
}

/** Opens a screen of a router that obeys `fastpath.device`. */
async function open(
  page: Page,
  screen: string,
  edit: (answer: Answer, answers: Recording['answers']) => void = () => undefined,
): Promise<Opened> {
  const opened: Opened = { answer: { now_ms: 0, devices: [] }, asked: [] };
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await replay(page, (answers) => {
    opened.answer = resultOf<Answer>(answers, DEVICES);
    edit(opened.answer, answers);
  });
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    const [, object, method, args] = params as [string, string, string, Record<string, unknown>];
    const reply = (result: object) =>
      route.fulfill({ json: { jsonrpc: '2.0', id, result: [0, result] } });
    if (object === 'fastpath.change' && method === 'check') {
      opened.asked.push(JSON.stringify(args['edits']));
      return reply({ problems: [], diff: [], cuts: [] });
    }
    if (object === 'fastpath.change' && method === 'apply') {
      opened.asked.push(`apply ${JSON.stringify(args['edits'])}`);
      return reply({ id: 1, seconds: 60 });
    }
    if (object === 'fastpath' && method === 'devices') return reply(opened.answer);
    if (object !== 'fastpath.device') return route.fallback();
    opened.asked.push(`${method} ${JSON.stringify(args)}`);
    obey(opened.answer, method, args);
    return reply({});
  });
  await entered(page);
  await page.goto(`#/${screen}`);
  await shown(page);
  return opened;
}

function obey({ devices }: Answer, method: string, args: Record<string, unknown>): void {
  for (const each of devices) {
    if (each.mac !== args['mac'] && each.group !== args['group']) continue;
    const until_ms = Number(args['until_s'] ?? 0) * 1000;
    if (method === 'pause')
      Object.assign(each, { until_ms, paused: until_ms ? 'until' : 'always' });
    if (method === 'resume') Object.assign(each, { until_ms: 0, paused: '' });
    if (method === 'set') Object.assign(each, args);
    if (method === 'limit') Object.assign(each, { limit_down: args['down'], limit_up: args['up'] });
    if (method === 'forget') Object.assign(each, { known: false, name: '', kind: '', group: '' });
  }
}

const row = (page: Page, mac: string) => page.locator(`tr[data-device="${mac}"]`);
const names = (page: Page) => page.locator('tr[data-device] th bdi').allInnerTexts();
const verb = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Waits for the files of the draft; edits made before would be lost. */
const draftLoaded = (page: Page) => expect(page.locator('[data-verb=forward]')).toBeEnabled();

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

test('a device is paused for an hour and resumed, with the focus on the next button', async ({
  page,
}) => {
  const { answer, asked } = await open(page, 'devices');
  await page.getByRole('link', { name: /^Anna's phone/ }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText("Anna's phone");
  await verb(page, 'Pause 1 h').focus();
  await page.keyboard.press('Enter');
  const until_s = Math.floor((answer.now_ms + 3_600_000) / 1000);
  await expect(page.locator('main [data-state=paused]')).toHaveText(/Paused until 03:27/);
  await expect(page.getByText('Paused until 03:27.', { exact: true })).toBeVisible();
  await expect(verb(page, 'Resume')).toBeFocused();
  await expect(verb(page, 'Pause 1 h')).toHaveCount(0);
  await page.keyboard.press('Enter');
  await expect(verb(page, 'Pause 1 h')).toBeFocused();
  await expect(page.locator('main [data-state=paused]')).toHaveCount(0);
  await verb(page, 'Block').click();
  await expect(page.getByText('Paused until you resume it.')).toBeVisible();
  expect(asked).toEqual([
    `pause ${JSON.stringify({ mac: ANNA, until_s })}`,
    `resume ${JSON.stringify({ mac: ANNA })}`,
    `pause ${JSON.stringify({ mac: ANNA, until_s: 0 })}`,
  ]);
});

test('a refused verb says why', async ({ page }) => {
  await open(page, `devices?mac=${ANNA}`);
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    if (params[1] !== 'fastpath.device') return route.fallback();
    const error = { code: 'unknown', text: 'the file is not writable' };
    return route.fulfill({ json: { jsonrpc: '2.0', id, result: [0, { error }] } });
  });
  await verb(page, 'Block').click();
  await expect(page.getByText('Not done: the file is not writable')).toBeVisible();
});

test('a group is paused until morning in one click', async ({ page }) => {
  const { asked } = await open(page, 'devices');
  const group = page.locator('[data-group=children]');
  await group.getByRole('button', { name: 'Pause until 07:00: children' }).click();
  await expect(group).toContainText('paused: 2');
  await expect(group.getByRole('button', { name: 'Resume: children' })).toBeFocused();
  expect(asked).toHaveLength(1);
  const args = JSON.parse(asked[0]?.replace('pause ', '') ?? '') as {
    group: string;
    until_s: number;
  };
  expect(args.group).toBe('children');
  expect(new Date(args.until_s * 1000).toISOString()).toMatch(/T07:00:00/);
});

test('name, kind and group are saved at once, and the device can be forgotten', async ({
  page,
}) => {
  const { asked } = await open(page, 'devices?mac=52:54:00:02:00:02');
  const form = page.getByRole('region', { name: 'Device', exact: true });
  await expect(verb(page, 'Forget')).toHaveCount(0);
  await form.getByLabel('Kind').selectOption('Camera');
  await form.getByLabel('Name').fill('Front door');
  await form.getByLabel('Name').press('Enter');
  await expect(page.getByText('Saved.')).toBeVisible();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Front door');
  expect(asked).toEqual([
    `set ${JSON.stringify({ mac: '52:54:00:02:00:02', kind: 'camera', name: 'Front door' })}`,
  ]);
  await page.goto(`#/devices?mac=${ANNA}`);
  await verb(page, 'Forget').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click();
  await expect(page.getByText('Forgotten.')).toBeVisible();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('10.10.10.10');
});

const reservation = {
  ...{ config: 'dhcp', op: 'add', type: 'host', id: 'new1' },
  values: { name: 'annas-phone', mac: ANNA, ip: '10.10.10.10' },
};

test('an address is reserved at once', async ({ page }) => {
  const { asked } = await open(page, `devices?mac=${ANNA}`);
  await draftLoaded(page);
  await verb(page, 'Reserve 10.10.10.10').click();
  await expect(page.getByText('10.10.10.10 is being reserved for this device.')).toBeVisible();
  await expect(verb(page, '10.10.10.10 is reserved')).toBeDisabled();
  const edits = JSON.stringify([reservation]);
  expect(asked).toEqual([edits, `apply ${edits}`]);
});

test('beside other edits, a reservation is a part of the draft', async ({ page }) => {
  const { asked } = await open(page, 'devices');
  await page.locator('[data-schedule=bedtime] summary').click();
  await page.locator('[data-schedule=bedtime]').getByLabel('Pause at').fill('20:00');
  await page.getByRole('link', { name: /^Anna's phone/ }).click();
  await draftLoaded(page);
  await verb(page, 'Reserve 10.10.10.10').click();
  await expect(page.getByText('In the draft: 10.10.10.10 stays with this device.')).toBeVisible();
  expect(asked).toEqual([]);
  await verb(page, 'Review and apply').click();
  await expect(page.getByRole('dialog', { name: 'Changes' })).toBeVisible();
  expect(asked).toHaveLength(1);
  expect(JSON.parse(asked[0] ?? '')).toContainEqual(reservation);
});

test('a change that would cut off somebody is not applied at once', async ({ page }) => {
  const { asked } = await open(page, `devices?mac=${ANNA}`);
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    if (params[2] !== 'check') return route.fallback();
    const cuts = [{ code: 'own-address', params: {}, text: 'the page moves' }];
    const result = [0, { problems: [], diff: [], cuts }];
    return route.fulfill({ json: { jsonrpc: '2.0', id, result } });
  });
  await draftLoaded(page);
  await verb(page, 'Reserve 10.10.10.10').click();
  await expect(page.getByText('In the draft: 10.10.10.10 stays with this device.')).toBeVisible();
  await expect(verb(page, 'Review and apply')).toBeVisible();
  expect(asked).toEqual([]);
});

test('a port forward opens filled in, with only the port to type', async ({ page }) => {
  await open(page, `devices?mac=${ANNA}`);
  await draftLoaded(page);
  await verb(page, 'Forward a port').click();
  await expect(page).toHaveURL(/#\/firewall/);
  const form = page.locator('details[open][data-forward]');
  await expect(form.getByLabel('Internal host')).toHaveValue('10.10.10.10');
  await expect(form.getByRole('textbox', { name: 'Name' })).toHaveValue("Anna's phone");
  await form.getByLabel('External port').fill('3074');
  await expect(form.locator('summary')).toContainText('10.10.10.10');
});

test('a device is never inspected', async ({ page }) => {
  const { asked } = await open(page, `devices?mac=${ANNA}`);
  await verb(page, 'Never inspect').click();
  await expect(verb(page, 'Not inspected')).toBeDisabled();
  await expect(page.getByLabel('Inspection')).toHaveValue('never');
  expect(asked).toEqual([`set ${JSON.stringify({ mac: ANNA, inspect: 'never' })}`]);
});

test('a device is limited and always inspected by keyboard', async ({ page }) => {
  const { asked } = await open(page, `devices?mac=${ANNA}`);
  const form = page.getByRole('region', { name: 'Limits and inspection' });
  const save = form.getByRole('button', { name: 'Save' });
  await expect(save).toBeDisabled();
  await form.getByLabel('Down').fill('0');
  await expect(form.getByText('From 0.008 to 10000, or empty')).toBeVisible();
  await expect(save).toBeDisabled();
  await form.getByLabel('Down').fill('5');
  await form.getByLabel('Inspection').selectOption('Always');
  await form.getByLabel('Up').fill('0.5');
  await form.getByLabel('Up').press('Enter');
  await expect(page.getByText('Saved.')).toBeVisible();
  await expect(save).toBeDisabled();
  await form.getByLabel('Down').fill('');
  await form.getByLabel('Down').press('Enter');
  await expect(form.getByLabel('Down')).toHaveValue('');
  await expect
    .poll(() => asked)
    .toEqual([
      `limit ${JSON.stringify({ mac: ANNA, down: 5000, up: 500 })}`,
      `set ${JSON.stringify({ mac: ANNA, inspect: 'always' })}`,
      `limit ${JSON.stringify({ mac: ANNA, down: 0, up: 500 })}`,
    ]);
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
