// SPDX-License-Identifier: GPL-2.0-or-later
import { apply, openReview, waitConfirmed } from './change';
import { expect, open, test } from './fixture';
import { hosts } from './lab';

test('a switch shows how much traffic it keeps on the slow path', async ({ page, lan }) => {
  await lan.download(hosts.isp);
  await open(page, 'fastpath');
  const panel = page.getByRole('region', { name: 'Traffic types' });
  const of = (name: string) => panel.getByRole('checkbox', { name, exact: true });
  const fast = /^On the fast path now: [1-9]\S* \wbit\/s of [1-9]\S* \wbit\/s, flows: [1-9]/;
  for (const name of ['IPv4', 'VLAN', 'PPPoE']) {
    await expect(of(name)).toHaveAccessibleDescription(fast, { timeout: 30_000 });
  }
  await expect(of('IPv6')).toHaveAccessibleDescription(/^No flows now\. Off: all IPv6/);
  await of('PPPoE').uncheck();
  expect(await openReview(page)).toEqual(['PPPoE: fastpath.main.pppoe: 1 → 0']);
  await apply(page);
  await waitConfirmed(page);
  const kept = /^Kept on the slow path now: [1-9]\S* \wbit\/s, flows: [1-9]/;
  await expect(of('PPPoE')).toHaveAccessibleDescription(kept, { timeout: 30_000 });
  await expect(of('IPv4')).toHaveAccessibleDescription(/^On the fast path now: 0 bit\/s of [1-9]/);
});
