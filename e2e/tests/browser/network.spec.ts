// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import { violations } from './axe';
import {
  apply,
  applyDraft,
  cell,
  openReview,
  openSetup,
  undoChange,
  waitConfirmed,
} from './change';
import { entry, expect, test } from './fixture';

async function newVlan(page: Page, vid: string, name: string, address = ''): Promise<void> {
  await page.getByRole('button', { name: 'Add VLAN' }).click();
  const form = page.getByRole('form', { name: 'New VLAN' });
  await form.getByLabel('VLAN ID').fill(vid);
  await form.getByLabel('Name').fill(name);
  await form.getByLabel('Router address').fill(address);
  await form.getByRole('button', { name: 'Add VLAN' }).click();
}

test('the matrix shows the configuration, including external edits', async ({ page, router }) => {
  await openSetup(page, 'network');
  await expect(cell(page, 'lan1', 10)).toHaveAttribute('data-member', 'u*');
  await expect(cell(page, 'lan2', 20)).toHaveAttribute('data-member', 't');
  await expect(cell(page, 'lan3', 20)).toHaveAttribute('data-member', '');
  await router.run(
    `sed -i "s/list ports 'lan2:t'/&\\n\\tlist ports 'lan3:t'/" /etc/config/network`,
  );
  await page.reload();
  await expect(cell(page, 'lan3', 20)).toHaveAttribute('data-member', 't');
});

test(
  'a guest VLAN is added with interface and zone in one step',
  { tag: ['@core', '@fault:pvid-twice'] },
  async ({ page, router }) => {
    await openSetup(page, 'network');
    await newVlan(page, '30', 'guest', '10.10.30.1/24');
    await cell(page, 'lan3', 30).press('u');
    await expect(cell(page, 'lan3', 10)).toHaveAttribute('data-member', '');
    const lines = (await openReview(page)).join('\n');
    expect(lines).toContain('lan3:u*');
    expect(lines).toContain('10.10.30.1/24');
    expect(await violations(page)).toEqual([]);
    await apply(page);
    await waitConfirmed(page);
    const lan3 = () => router.run('bridge vlan show dev lan3');
    await expect.poll(lan3).toMatch(/30 PVID Egress Untagged/);
    expect(await router.run('ip -4 addr show br-lan.30')).toContain('10.10.30.1/24');
    expect(await router.run('nft list table inet fw4')).toContain('guest');
    const network = await router.run('cat /etc/config/network');
    expect(network).toContain("option vlan '30'");
    // IPv6 settings as in OpenWrt's lan, and a rule that accepts neighbour discovery.
    expect(network).toMatch(/config interface 'guest'[^]*option ip6assign '60'/);
    const pools = await router.run('cat /etc/config/dhcp');
    expect(pools).toMatch(/config dhcp 'guest'[^]*option ra 'server'/);
    expect(pools).toContain("list ra_flags 'managed-config'");
    expect(await router.run('nft list chain inet fw4 input_guest')).toMatch(
      /icmpv6 type .*nd-neighbor-solicit.*Allow-ICMPv6-guest/,
    );
    await page.reload();
    await expect(cell(page, 'lan3', 30)).toHaveAttribute('data-member', 'u*');
  },
);

test(
  'invalid numbers, names and addresses are reported at their fields',
  { tag: ['@fault:vlan-number', '@fault:vlan-twice', '@fault:address-collides'] },
  async ({ page }) => {
    await openSetup(page, 'network');
    for (const [vid, words] of [
      ['0', 'A VLAN ID from 1 to 4094.'],
      ['4095', 'A VLAN ID from 1 to 4094.'],
      ['20', 'This VLAN ID is already in use.'],
    ] as const) {
      await newVlan(page, vid, 'guest', '10.10.30.1/24');
      await expect(page.getByText(words)).toBeVisible();
      await page.getByRole('button', { name: 'Cancel' }).click();
    }
    await newVlan(page, '30', 'guest', '10.10.20.9/24');
    await page.getByRole('button', { name: 'Review and apply' }).click();
    await expect(page.getByText('1 invalid value:')).toBeVisible();
    await page.getByRole('button', { name: 'Discard' }).click();
    await expect(page.getByRole('button', { name: 'Review and apply' })).toBeHidden();
  },
);

test('bridges with one VLAN each can be merged into one bridge', async ({ page, router }) => {
  await router.run(`cp /etc/config/network /tmp/network.e2e; cat >/etc/config/network <<'END'
config device
	option name 'br-lan'
	option type 'bridge'
	list ports 'lan1'
	list ports 'lan3'

config device
	option name 'br-iot'
	option type 'bridge'
	list ports 'lan2.20'

config interface 'lan'
	option device 'br-lan'
	option proto 'static'
	list ipaddr '10.10.10.1/24'

config interface 'iot'
	option device 'br-iot'
	option proto 'static'
	list ipaddr '10.10.20.1/24'
END
`);
  try {
    await openSetup(page, 'network');
    await page.getByRole('button', { name: 'Prepare migration to one bridge' }).click();
    await expect(cell(page, 'lan1', 1)).toHaveAttribute('data-member', 'u*');
    await expect(cell(page, 'lan2', 20)).toHaveAttribute('data-member', 't');
    const lines = (await openReview(page)).join('\n');
    expect(lines).toContain('br-lan.20');
    expect(await router.run('cat /etc/config/network')).not.toContain('bridge-vlan');
  } finally {
    await router.run('mv /tmp/network.e2e /etc/config/network');
  }
});

test('a pool, a reservation, a name and DNS servers reach the client', async ({
  page,
  router,
  lab,
}) => {
  const mac = (await lab.verb('h30', 'cat /sys/class/net/eth0/address')).trim();
  await router.run(`printf "config dnsmasq\\n\\toption domain 'lan'\\n" >/etc/config/dhcp`);
  await openSetup(page, 'network');
  const pool = page.locator('[data-pool="lan"]');
  await pool.locator('summary').click();
  await pool.getByRole('button', { name: 'Add DHCP server' }).click();
  await pool.getByLabel('First address').fill('60');
  await pool.getByLabel('Number of addresses').fill('20');
  await pool.getByLabel('Lease time').fill('1h');
  await expect(pool.locator('summary')).toContainText('10.10.10.60 – 10.10.10.79, leased for 1h');
  const names = page.getByRole('region', { name: 'Local names' });
  await names.getByRole('button', { name: 'Add a name' }).click();
  await names.getByLabel('Name', { exact: true }).fill('nas.lan');
  await names.getByLabel('Address').fill('10.10.10.5');
  const resolver = page.getByRole('region', { name: 'DNS', exact: true });
  await resolver.getByLabel('Upstream servers').fill('/away.example/10.10.10.1');
  expect(await violations(page)).toEqual([]);
  await applyDraft(page);
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await lab.verb('soon', '10', 'h30_port', 'lease');
  const address = () => lab.verb('h30', 'ip -4 -o addr show dev eth0');
  expect(await address()).toMatch(/10\.10\.10\.(6|7)\d\/24/);
  expect(await lab.verb('h30', 'busybox nslookup nas.lan 10.10.10.1 || true')).toContain(
    '10.10.10.5',
  );
  expect(await router.run('cat /run/dnsmasq.conf')).toContain('server=/away.example/10.10.10.1');

  const hosts = page.getByRole('region', { name: 'Reserved addresses' });
  await hosts.getByRole('button', { name: 'Reserve an address' }).click();
  await hosts.getByLabel('Name', { exact: true }).fill('printer');
  await hosts.getByLabel('MAC addresses').fill(mac);
  await hosts.getByLabel('IPv4 address').fill('10.10.10.77');
  await applyDraft(page);
  await lab.verb('soon', '10', 'h30_port', 'lease');
  expect(await address()).toContain('10.10.10.77/24');
  expect(await lab.verb('h30', 'busybox nslookup printer 10.10.10.1 || true')).toContain(
    '10.10.10.77',
  );
  await lab.verb('h30_port', 'off');
});

// The provider's VLAN 40 sends to a group; h11 is the box at lan3, and h10 joins the group, too.
test('IPTV reaches the port of the box only, and its removal restores the port', async ({
  page,
  router,
  lab,
}) => {
  const file = () => router.run("sed '/^$/d' /etc/config/network");
  const before = await file();
  await lab.verb('television');
  await openSetup(page, 'network');
  const form = page.getByRole('form', { name: 'Television (IPTV)' });
  await form.getByLabel('Provider’s VLAN').fill('35');
  await form.getByRole('button', { name: 'Bridge VLAN' }).click();
  await expect(form.getByText('The line already uses this VLAN.')).toBeVisible();
  await form.getByLabel('Provider’s VLAN').fill('40');
  await form.getByLabel('Port of the box').selectOption('lan3');
  await form.getByRole('button', { name: 'Bridge VLAN' }).click();
  await expect(cell(page, 'lan3', 40)).toHaveAttribute('data-member', 'u*');
  await expect(cell(page, 'wan.40', 40)).toHaveAttribute('data-member', 'u*');
  expect(await violations(page)).toEqual([]);
  await applyDraft(page);
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await lab.verb('soon', '30', 'receives', 'h11', '20000');
  expect(await lab.verb('received_by', 'h10')).toBe('0\n');
  expect(await router.run('cat /sys/class/net/pppoe-wan/carrier')).toBe('1\n');

  await page.locator('[data-iptv="40"]').getByRole('button', { name: 'Remove' }).click();
  await expect(cell(page, 'lan3', 10)).toHaveAttribute('data-member', 'u*');
  await applyDraft(page);
  await expect.poll(() => router.run('bridge vlan show dev lan3')).toMatch(/10 PVID Egress/);
  expect(await file()).toBe(before);
  await lab.verb('television_off');
});

// Stand-ins: like its init script, https-dns-proxy's enters the proxies as dnsmasq's servers and
// starts them with words of a command line; two DNS servers answer in place of the programs.
const ENCRYPTED = `
cat >/etc/config/dhcp <<'END'
config dnsmasq
	option domain 'lan'

config dhcp 'lan'
	option interface 'lan'
END
cat >/etc/config/https-dns-proxy <<'END'
config main 'config'
	option dnsmasq_config_update '*'

config https-dns-proxy
	option bootstrap_dns '1.1.1.1,1.0.0.1'
	option resolver_url 'https://cloudflare-dns.com/dns-query'
	option listen_port '5053'
END
cat >/etc/config/stubby <<'END'
config stubby 'global'
	list listen_address '127.0.0.1@5453'

config resolver
	option address '1.1.1.1'
	option tls_auth_name 'one.one.one.one'
END
cat >/etc/init.d/https-dns-proxy <<'END'
#!/bin/sh /etc/rc.common
proxy() {
	config_get url "$1" resolver_url
	config_get addresses "$1" bootstrap_dns
	config_get port "$1" listen_port
	set -- -r $url -b $addresses
	[ $# = 4 ] && [ "$url" != "\${url#https://}" ] || return 0
	echo "$*" >>/run/e2e/doh
	grep -q "'127.0.0.1#$port'" /etc/config/dhcp && return
	sed -i "/^config dnsmasq/a\\	list server '127.0.0.1#$port'\\n	option noresolv '1'" /etc/config/dhcp
	/etc/init.d/dnsmasq restart
}
start_service() {
	rm -f /run/e2e/doh
	config_load https-dns-proxy
	config_foreach proxy https-dns-proxy
}
reload_service() { start; }
service_triggers() { procd_add_reload_trigger https-dns-proxy; }
END
chmod +x /etc/init.d/https-dns-proxy
/etc/init.d/https-dns-proxy start
for port in 5053 5453; do
	dnsmasq -C /dev/null -p $port --no-resolv --no-hosts --listen-address=127.0.0.1 --bind-interfaces \
		--address=/doh.example/192.0.2.\${port%53} --pid-file=/run/e2e/doh.$port
done`;
const PLAIN = `for port in 5053 5453; do kill $(cat /run/e2e/doh.$port); done
rm -f /etc/config/stubby /etc/config/https-dns-proxy /etc/init.d/https-dns-proxy \
	/run/triggers/https-dns-proxy`;

test('a resolver is chosen for the packages of encrypted DNS, and undo restores the files', async ({
  page,
  router,
  lab,
}) => {
  await openSetup(page, 'network');
  const panel = page.getByRole('region', { name: 'DNS', exact: true });
  await router.run(`mkdir -p /run/e2e; ${ENCRYPTED}`);
  try {
    // rpcd moves a list that it replaces to the end of its section.
    const files = () =>
      router.run("cd /etc/config; sed '/^$/d' dhcp https-dns-proxy stubby | sort");
    const answer = () => lab.verb('h10', 'busybox nslookup doh.example 10.10.10.1 || true');
    const before = await files();
    await page.reload();
    const https = panel.getByLabel('DNS over HTTPS by 127.0.0.1#5053');
    await expect(https).toHaveValue('Cloudflare');
    await expect(panel.getByText('dnsmasq is configured to ask it.')).toBeVisible();
    const url = panel.getByLabel('URL', { exact: true });
    await url.fill('http://dns.example/');
    await page.getByRole('button', { name: 'Review and apply' }).click();
    await expect(url).toHaveAttribute('aria-invalid', 'true');
    await https.selectOption('Quad9');
    expect(await violations(page)).toEqual([]);
    await applyDraft(page);
    await expect
      .poll(() => router.run('cat /run/e2e/doh'))
      .toBe(
        '-r https://dns.quad9.net/dns-query -b 9.9.9.9,149.112.112.112,2620:fe::fe,2620:fe::9\n',
      );
    expect(await answer()).toContain('192.0.2.50');

    await page.getByRole('button', { name: 'Dismiss' }).click();
    await panel.getByLabel('DNS over TLS by stubby').selectOption('Quad9');
    await panel.getByLabel('Ask only stubby').check();
    await applyDraft(page);
    await expect.poll(answer).toContain('192.0.2.54');
    expect(await router.run('cat /etc/config/stubby')).toMatch(
      /'9\.9\.9\.9'[^]*'dns\.quad9\.net'[^]*'2620:fe::9'/,
    );

    // The second one is below the undo of the last one.
    for (const at of [0, 2]) {
      await undoChange(page, at);
    }
    expect(await files()).toBe(before);
  } finally {
    await router.run(PLAIN);
  }
});

test('a viewer sees the matrix without controls', async ({ page }) => {
  await openSetup(page, 'network', 'viewer');
  await expect(cell(page, 'lan1', 10)).toHaveCount(0);
  await expect(page.getByRole('table').first()).toContainText('lan1, VLAN 10: untagged');
  await expect(page.getByText('Your account is read-only.')).toBeVisible();
  const buttons = page.getByRole('main').locator('button:not([popovertarget])');
  await expect(buttons).toHaveCount(0);
});

// Two of the four combinations are in regression.spec.ts.
const long = { tag: '@long' };

for (const screen of ['network', 'wan', 'wizard']) {
  test(`${screen} is accessible and fits into 320 px`, long, async ({ page }) => {
    await openSetup(page, screen);
    await expect(page.locator('main .panel').first()).toBeVisible();
    for (const width of [1280, 320]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 640 });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect.soft(wide, `${width} px`).toBeLessThanOrEqual(width);
        expect.soft(await violations(page), `${width} px, ${colorScheme}`).toEqual([]);
      }
    }
  });
}

test('at 320 px each group opens a sheet of its screens, by keyboard too', async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  await openSetup(page, 'network');
  const menu = page.getByRole('navigation', { name: 'Screens' }).getByRole('button', {
    name: 'Settings',
  });
  await menu.focus();
  await page.keyboard.press('Enter');
  await expect(entry(page, 'Internet')).toBeVisible();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await expect(entry(page, 'Internet')).toBeHidden();
  await expect(menu).toBeFocused();
  await page.keyboard.press('Enter');
  await entry(page, 'Internet').focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Internet' })).toBeVisible();
  await expect(entry(page, 'Firewall')).toBeHidden();
});
