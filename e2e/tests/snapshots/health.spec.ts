// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Page } from '@playwright/test';
import { replay, resultOf, type Recording } from './replay';
import { entered, shown } from './screens';

interface Finding {
  id: string;
  severity: string;
  about: string[];
  accepted: string[];
}
interface Status {
  health: object[];
  doctor: { last: object | null; why: string; cause: object };
}

const report = (answers: Recording['answers']) =>
  resultOf<{ findings: Finding[] }>(answers, 'fastpath.doctor last {}');
const status = (answers: Recording['answers']) => resultOf<Status>(answers, 'fastpath status {}');

async function open(
  page: Page,
  screen: string,
  change: (answers: Recording['answers']) => void = () => undefined,
): Promise<void> {
  await replay(page, change);
  await entered(page);
  await page.goto(`#/${screen}`);
  await shown(page);
}

const wan = { code: 'wan-down', level: 'error', params: { name: 'wan' }, text: 'wan is down.' };
const tile = (page: Page) => page.getByRole('region', { name: 'Health' });
const badge = (page: Page) => page.locator('nav [data-badge]');

test.use({ locale: 'en-GB' });

test('the router is not shown as healthy before the report is loaded', async ({ page }) => {
  await replay(page, (answers) => {
    status(answers).health = [];
    report(answers).findings = report(answers).findings.filter(({ severity }) => severity === 'ok');
  });
  let answerIt = () => {};
  const asked = new Promise<void>((resolve) => (answerIt = resolve));
  await page.route('**/ubus', async (route) => {
    if (route.request().postData()?.includes('fastpath.doctor')) await asked;
    await route.fallback();
  });
  await entered(page);
  await page.goto('#/overview');
  await expect(tile(page).getByRole('listitem')).toHaveText([/Not known yet$/]);
  await expect(tile(page).locator('[data-severity=ok]')).toHaveCount(0);
  answerIt();
  await expect(tile(page).getByRole('listitem')).toHaveText([/No problems found\.$/]);
});

test('the router is not shown as healthy without a report', async ({ page }) => {
  await open(page, 'overview', (answers) => {
    status(answers).health = [];
    status(answers).doctor.last = null;
    delete answers['fastpath.doctor last {}'];
  });
  await expect(tile(page).getByRole('listitem')).toHaveText([/Not known yet$/]);
});

test('tile, badge and title count conditions and findings', async ({ page }) => {
  await open(page, 'overview', (answers) => status(answers).health.push(wan));
  await expect(tile(page).getByRole('listitem')).toHaveText([
    /Error:The Internet connection \(wan\) is down\.$/,
    /Warning:PPPoE/,
    /Warning:Only built-in test rules/,
    /Note:/,
  ]);
  await expect(tile(page)).toContainText('2 more findings');
  await expect(badge(page)).toHaveText('3');
  await expect(
    page.getByRole('navigation').getByRole('link', { name: 'Health' }),
  ).toHaveAccessibleDescription('3 errors and warnings');
  await expect(page).toHaveTitle(/^3 health findings · /);
  await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', './icon-news.svg');
  await tile(page).getByRole('link', { name: 'All findings' }).click();
  await expect(page).toHaveURL(/#\/health$/);
  await expect(page.locator('[data-verdict]')).toHaveAttribute('data-verdict', 'error');
  await expect(page.locator('[data-group=now]')).toContainText('(wan) is down.');
});

test('the report is printed without header and navigation', async ({ page }) => {
  await open(page, 'health');
  await page.emulateMedia({ media: 'print' });
  await expect(page.locator('[data-finding]').first()).toBeVisible();
  await expect(page.getByRole('banner')).toBeHidden();
  await expect(page.getByRole('navigation')).toBeHidden();
});

test('an accepted finding is not counted, and has a separate group', async ({ page }) => {
  await open(page, 'health', (answers) => {
    for (const finding of report(answers).findings) {
      if (finding.severity === 'warning') finding.accepted = ['cfg0a1b2c'];
    }
  });
  await expect(page.locator('[data-verdict]')).toHaveAttribute('data-verdict', 'ok');
  await expect(badge(page)).toHaveCount(0);
  await expect(page).not.toHaveTitle(/health/);
  await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', './icon.svg');
  const accepted = page.locator('[data-group=accepted]');
  await expect(accepted.locator('details[data-finding]').first()).toBeHidden();
  await accepted.getByText('2 accepted findings').click();
  await expect(accepted.locator('details[data-finding]')).toHaveCount(2);
  await page.goto('#/overview');
  await expect(tile(page).locator('[data-severity=warning]')).toHaveCount(0);
});

async function polled(page: Page): Promise<void> {
  for (let answers = 0; answers < 3; answers += 1) {
    await page.waitForResponse((response) => {
      const asked: unknown = response.request().postDataJSON();
      return JSON.stringify(asked).includes('"fastpath","status"');
    });
  }
}

test('a poll keeps findings collapsed or expanded', async ({ page }) => {
  await open(page, 'health');
  const details = page.locator('details[data-finding]');
  const folded = details.and(page.locator('[data-severity=info]')).first();
  const unfolded = details.and(page.locator('[data-severity=warning]')).first();
  await folded.locator('summary').click();
  await unfolded.locator('summary').click();
  await polled(page);
  await expect(folded).toHaveAttribute('open');
  await expect(unfolded).not.toHaveAttribute('open');
});

test('a returning finding is collapsed or expanded as before', async ({ page }) => {
  let answers: Recording['answers'] = {};
  await open(page, 'health', (all) => (answers = all));
  const note = page.locator('details[data-finding][data-severity=info]').first();
  const id = await note.getAttribute('data-finding');
  const finding = page.locator(`details[data-finding="${id}"]`);
  await finding.locator('summary').click();
  await expect(finding.getByRole('table')).toBeVisible();
  const next = resultOf<{ findings: Finding[] }>(answers, 'fastpath.doctor run {}');
  const { findings } = next;
  const run = () => page.getByRole('button', { name: 'Run checks again' }).click();
  next.findings = findings.filter((each) => each.id !== id);
  await run();
  await expect(finding).toHaveCount(0);
  next.findings = findings;
  await run();
  await expect(finding.getByRole('table')).toBeVisible();
});

test('accepting a finding adds it to the configuration', async ({ page }) => {
  const asked: unknown[] = [];
  await open(page, 'health', (answers) => {
    const finding = report(answers).findings.find(({ id }) => id === 'ips-rules');
    if (finding) finding.about = ['lan1', 'lan 2'];
  });
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    if (params[1] !== 'fastpath.change' || params[2] !== 'check') return route.fallback();
    asked.push(params[3]);
    const result = [0, { problems: [], diff: [], cuts: [], exposes: [] }];
    return route.fulfill({ json: { jsonrpc: '2.0', id, result } });
  });
  await page.locator('[data-accept=ips-rules]').click();
  await page.getByRole('button', { name: 'Review and apply' }).click();
  const values = {
    ...{ check: 'ips-rules/builtin', severity: 'warning', about: ['lan1', 'lan 2'] },
  };
  const edits = [{ config: 'fastpath', op: 'add', type: 'accepted', id: 'accepted', values }];
  await expect.poll(() => asked).toMatchObject([{ edits }]);
});

test('a viewer cannot accept findings', async ({ page }) => {
  await open(page, 'health', (answers) => {
    for (const key of Object.keys(answers).filter((each) => each.startsWith('session access '))) {
      answers[key] = { result: [0, { access: false }] };
    }
  });
  await expect(page.locator('details[data-finding=ips-rules]')).toBeVisible();
  await expect(page.locator('[data-accept]')).toHaveCount(0);
});

test('the last report is shown at once, and checks run on demand', async ({ page }) => {
  const asked: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).pathname !== '/ubus') return;
    const { params } = request.postDataJSON() as { params: string[] };
    if (params[1] === 'fastpath.doctor') asked.push(params[2] ?? '');
  });
  await open(page, 'health');
  await expect(page.locator('[data-fact=at]')).toContainText('Last run on gateway: ');
  expect(asked).not.toContain('run');
  await page.getByRole('button', { name: 'Run checks again' }).click();
  await expect.poll(() => asked).toContain('run');
});

test('without a report the screen runs the checks, and the tile has the reason', async ({
  page,
}) => {
  const none = { code: 'none', text: 'no report', cause: { code: 'no-report', params: {} } };
  await open(page, 'health', (answers) => {
    status(answers).doctor = { last: null, why: 'x', cause: { code: 'first', params: {} } };
    answers['fastpath.doctor last {}'] = { result: [0, { error: none }] };
  });
  await expect(page.locator('details[data-finding=ips-rules]')).toBeVisible();
  await page.goto('#/overview');
  await expect(tile(page)).toContainText('The checks run for the first time some minutes after');
});
