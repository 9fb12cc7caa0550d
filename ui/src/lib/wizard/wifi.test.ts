// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, expect, it } from 'vitest';
import { Router } from '../form/change.svelte';
import { Draft } from '../form/draft.svelte';
import { text, type Section } from '../form/sections';
import { addGuests, removeGuests } from './guests';
import { removePoints, setPoints, settingOf, setWifi, wifiIsOn } from './wifi';

const section = (type: string, name: string, values: Section['values']): Section => ({
  section: name,
  type,
  anonymous: false,
  values,
});

/** OpenWrt's configuration after the first boot: radios off, default SSID, no key. */
const fresh = () => ({
  network: [
    section('device', 'br', { name: 'br-lan', type: 'bridge', ports: ['lan1'] }),
    section('bridge-vlan', 'v10', { device: 'br-lan', vlan: '10', ports: ['lan1:u*'] }),
    section('interface', 'lan', { device: 'br-lan.10', ipaddr: ['10.0.10.1/24'] }),
  ],
  wireless: ['2g', '6g'].flatMap((band, i) => [
    section('wifi-device', `radio${i}`, { type: 'mac80211', band, disabled: '1' }),
    section('wifi-iface', `default_radio${i}`, {
      device: `radio${i}`,
      network: 'lan',
      mode: 'ap',
      ssid: 'OpenWrt',
      encryption: 'none',
    }),
  ]),
});

let draft: Draft;
beforeEach(async () => {
  const router = new Router({ request: () => Promise.resolve({ configs: fresh() }) });
  draft = new Draft(router);
  await draft.load(['network', 'firewall', 'dhcp', 'wireless']);
});

const ssids = () =>
  draft.all('wireless', 'wifi-iface').map((each) => {
    const of = ['device', 'network', 'ssid', 'encryption', 'key', 'isolate'];
    return of.map((option) => text(each, option, '-')).join(' ');
  });

it('gives all radios one name and key, with the band’s encryption', () => {
  expect(wifiIsOn(draft)).toBe(false);
  setWifi(draft, true);
  expect(wifiIsOn(draft)).toBe(true);
  setPoints(draft, 'lan', { ssid: 'Home', key: 'a good key' });
  expect(settingOf(draft, 'lan')).toEqual({ ssid: 'Home', key: 'a good key' });
  expect(ssids()).toEqual([
    'radio0 lan Home sae-mixed a good key -',
    'radio1 lan Home sae a good key -',
  ]);
});

it('never leaves the home network open', () => {
  setWifi(draft, true);
  setPoints(draft, 'lan', { ssid: 'Home', key: '' });
  expect(ssids()[0]).toBe('radio0 lan Home sae-mixed - -');
});

it('puts guests into their own network only', () => {
  addGuests(draft);
  setWifi(draft, true);
  setPoints(draft, 'guest', { ssid: 'Guests', key: '' });
  expect(ssids().slice(2)).toEqual(['radio0 guest Guests none - 1', 'radio1 guest Guests owe - 1']);
  setPoints(draft, 'guest', { ssid: 'Guests', key: 'welcome in' });
  expect(ssids()[2]).toBe('radio0 guest Guests sae-mixed welcome in 1');
  removePoints(draft, 'guest');
  expect(ssids()).toHaveLength(2);
});

it('removes the guests’ SSIDs with their network', () => {
  addGuests(draft);
  setPoints(draft, 'guest', { ssid: 'Guests', key: 'welcome in' });
  removeGuests(draft);
  expect(ssids().filter((each) => each.includes('Guests'))).toEqual([]);
});
