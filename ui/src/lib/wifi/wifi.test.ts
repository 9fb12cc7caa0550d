// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import { Router } from '../form/change.svelte';
import { Draft } from '../form/draft.svelte';
import { MASK, text, type Section } from '../form/sections';
import type { Radio } from '../api/types-wireless';
import { removeVlan, renameVlan, vlansOf } from '../network/matrix';
import {
  channelAt,
  connectionOf,
  featuresOf,
  measuredOf,
  namesOf,
  stateOf,
  stationOf,
  stationsAt,
} from './air';
import { nameOf, pointIn, putInto } from './ports';
import {
  addPoint,
  channelsOf,
  editPoint,
  isCountry,
  isPointOn,
  networksOf,
  othersOf,
  pointsOf,
  radiosOf,
  setCountry,
  setNetwork,
  setRadio,
  widthOf,
  wrongWith,
  type Wanted,
} from './wifi';

const section = (type: string, name: string, values: Section['values']): Section => ({
  section: name,
  type,
  anonymous: false,
  values,
});

const configs = () => ({
  network: [
    section('device', 'br', { name: 'br-lan', type: 'bridge', ports: ['lan1'] }),
    section('bridge-vlan', 'v10', { device: 'br-lan', vlan: '10', ports: ['lan1:u*'] }),
    section('bridge-vlan', 'v30', { device: 'br-lan', vlan: '30' }),
    section('interface', 'lan', { device: 'br-lan.10', proto: 'static' }),
    section('interface', 'guest', { device: 'br-lan.30', proto: 'static' }),
    section('interface', 'wan', { device: 'eth1', proto: 'dhcp' }),
  ],
  wireless: [
    section('wifi-device', 'radio0', { type: 'mac80211', band: '2g', channel: 'auto' }),
    section('wifi-device', 'radio1', { type: 'mac80211', band: '6g', disabled: '1' }),
    section('wifi-iface', 'home', {
      device: 'radio0',
      mode: 'ap',
      ssid: 'Home',
      encryption: 'psk2',
      key: MASK,
      network: 'lan',
    }),
    section('wifi-iface', 'uplink', { device: 'radio0', mode: 'sta', network: 'wan' }),
  ],
});

const wanted: Wanted = {
  ssid: 'Guests',
  encryption: 'sae-mixed',
  key: 'a good key',
  network: 'guest',
  isolate: true,
  radio: '',
};

let draft: Draft;
beforeEach(async () => {
  const router = new Router({ request: () => Promise.resolve({ configs: configs() }) });
  draft = new Draft(router);
  await draft.load(['network', 'firewall', 'dhcp', 'wireless']);
});

const home = () => draft.get('wireless', 'home') as Section;

describe('SSIDs', () => {
  it('are access points without stations', () => {
    expect(pointsOf(draft).map(({ section: name }) => name)).toEqual(['home']);
    expect(othersOf(draft)).toBe(1);
    expect(isPointOn(draft, home())).toBe(true);
    setRadio(draft, radiosOf(draft)[0] as Section, false);
    expect(isPointOn(draft, home())).toBe(false);
  });

  it('are added at each radio with an encryption that the band allows', () => {
    addPoint(draft, wanted);
    const added = pointsOf(draft).slice(1);
    expect(added.map((each) => [text(each, 'device'), text(each, 'encryption')])).toEqual([
      ['radio0', 'sae-mixed'],
      ['radio1', 'sae'],
    ]);
    expect(added[0]?.values).toMatchObject({ mode: 'ap', network: 'guest', isolate: '1' });
  });

  it.each([
    ['psk2', 'sae'],
    ['sae-mixed', 'sae'],
    ['sae', 'sae'],
    ['none', 'owe'],
    ['owe', 'owe'],
  ])('have instead of %s at 6 GHz %s', (encryption, allowed) => {
    const at = { ...wanted, encryption, radio: 'radio1' };
    addPoint(draft, at);
    const added = pointsOf(draft)[1] as Section;
    expect(added.values['encryption']).toBe(allowed);
    editPoint(draft, added, at);
    expect(added.values['encryption']).toBe(allowed);
  });

  it('keep options of roaming unless they are offered', () => {
    draft.set('wireless', 'home', { ieee80211r: '1' });
    editPoint(draft, home(), wanted);
    expect(home().values['ieee80211r']).toBe('1');
    editPoint(draft, home(), { ...wanted, ieee80211r: false, bss_transition: true });
    expect(home().values).not.toHaveProperty('ieee80211r');
    expect(home().values).toMatchObject({ bss_transition: '1' });
  });

  it('drop the key if the encryption needs none', () => {
    editPoint(draft, home(), { ...wanted, encryption: 'owe' });
    expect(home().values).not.toHaveProperty('key');
  });

  it('keep a masked key', () => {
    editPoint(draft, home(), { ...wanted, key: MASK, network: 'lan' });
    const values = draft.edits.flatMap((edit) => (edit.op === 'set' ? [edit.values] : []));
    expect(values).toEqual([{ ssid: 'Guests', encryption: 'sae-mixed', isolate: '1' }]);
  });

  it.each([
    [{}, []],
    [{ ssid: '' }, ['ssid']],
    [{ ssid: 'ü'.repeat(17) }, ['ssid']],
    [{ key: 'short' }, ['key']],
    [{ key: 'schlüssel' }, ['key']],
    [{ key: 'f'.repeat(64) }, []],
    [{ key: 'x'.repeat(64) }, ['key']],
    [{ key: '', encryption: 'owe' }, []],
  ])('are validated: %o', (part, wrong) => {
    expect(wrongWith({ ...wanted, ...part })).toEqual(wrong);
  });
});

describe('networks', () => {
  it('of SSIDs are interfaces on a bridge', () => {
    expect(networksOf(draft)).toEqual(['lan', 'guest']);
    setNetwork(draft, home(), 'guest');
    expect(text(home(), 'network')).toBe('guest');
  });

  it('rename and remove their SSIDs, too', () => {
    const of = (vid: string) => vlansOf(draft, 'br-lan').find((each) => each.vid === vid);
    const lan = of('10');
    if (lan) renameVlan(draft, lan, 'house');
    expect(text(home(), 'network')).toBe('house');
    const renamed = of('10');
    if (renamed) removeVlan(draft, renamed);
    expect(draft.get('wireless', 'home')).toBeUndefined();
    expect(othersOf(draft)).toBe(1);
  });
});

it('sets the country of all radios', () => {
  setCountry(draft, 'DE');
  expect(radiosOf(draft).map((radio) => text(radio, 'country'))).toEqual(['DE', 'DE']);
  expect(['DE', '00', ''].every(isCountry)).toBe(true);
  expect(['de', 'Germany', 'D'].some(isCountry)).toBe(false);
  expect(channelsOf('2g')).toHaveLength(14);
  expect(channelsOf('')).toEqual(['auto']);
  expect(['HE80', 'HT40+', 'NOHT', ''].map(widthOf)).toEqual([80, 40, undefined, undefined]);
});

describe('ports of the matrix', () => {
  const of = (vid: string) => vlansOf(draft, 'br-lan').find((each) => each.vid === vid);

  it('include SSIDs, each in one VLAN', () => {
    const [lan, guest] = [of('10'), of('30')];
    if (!lan || !guest) throw new Error('no VLANs');
    expect([pointIn(home(), lan), pointIn(home(), guest)]).toEqual([true, false]);
    putInto(draft, home(), guest, true);
    expect([pointIn(home(), lan), pointIn(home(), guest)]).toEqual([false, true]);
    putInto(draft, home(), guest, false);
    expect(pointIn(home(), guest)).toBe(false);
    expect(pointIn(home(), lan), 'where it was before').toBe(true);
    putInto(draft, home(), lan, false);
    putInto(draft, home(), guest, true);
    putInto(draft, home(), guest, false);
    expect(pointIn(home(), lan), 'taken out on purpose').toBe(false);
  });

  it('show the band if radios share an SSID', () => {
    expect(nameOf(draft, home())).toBe('Home');
    addPoint(draft, { ...wanted, ssid: 'Home' });
    expect(pointsOf(draft).map((each) => nameOf(draft, each))).toEqual([
      'Home on 2.4 GHz',
      'Home on 2.4 GHz',
      'Home on 6 GHz',
    ]);
  });
});

describe('the state of radios', () => {
  const ssid = { section: 'home', ssid: 'Home', mode: 'ap', encryption: 'sae', networks: ['lan'] };
  const radio = (values: Partial<Radio>): Radio => ({
    ...{ name: 'radio0', band: '5g', channel: '36', country: 'DE', disabled: false },
    ...{ up: false, pending: false, failed: false, features: [] },
    ssids: [{ ...ssid, device: 'phy0-ap0' }],
    ...values,
  });
  const state = (values: Partial<Radio>) => stateOf(new Map([['radio0', radio(values)]]), 'radio0');

  it('distinguishes the states of a radio', () => {
    expect([state({ up: true }), state({ pending: true }), state({ failed: true })]).toEqual([
      'up',
      'pending',
      'failed',
    ]);
    expect(state({})).toBe('off');
    expect(stateOf(new Map(), 'radio0')).toBeUndefined();
  });

  it('has the width in use, and what hostapd supports', () => {
    const ssids = [
      { ...ssid, device: '' },
      { ...ssid, device: 'phy0-ap1', width_mhz: 40 },
    ];
    const air = new Map([['radio0', radio({ ssids, features: ['ieee80211r'] })]]);
    expect(measuredOf(air, 'radio0')?.width_mhz).toBe(40);
    expect(measuredOf(air, 'radio1')).toBeUndefined();
    expect(featuresOf(air)).toEqual(['ieee80211r']);
    expect(featuresOf(new Map())).toEqual([]);
  });

  it('has the SSIDs of access points', () => {
    expect(namesOf(new Map([['radio0', radio({})]])).get('phy0-ap0')).toBe('Home');
  });

  it('has the connection of a device, and the number of devices of an SSID', () => {
    const point = { ...ssid, device: 'phy0-ap0', frequency_mhz: 5180 };
    const stations = [{ mac: '02:00:00:00:00:AA', signal_dbm: -52 }];
    const air = (ssids: Radio['ssids']) => new Map([['radio0', radio({ ssids })]]);
    const one = air([{ ...point, stations }]);
    expect(stationOf(one, '02:00:00:00:00:aa')?.point.ssid).toBe('Home');
    expect(stationOf(one, '02:00:00:00:00:ab')).toBeUndefined();
    expect(
      stationsAt(
        air([
          { ...point, stations },
          { ...point, stations },
        ]),
        'home',
      ),
    ).toBe(2);
    expect(stationsAt(air([{ ...point, stations: [] }]), 'home')).toBe(0);
    expect(stationsAt(air([{ ...point, stations }, point]), 'home')).toBeUndefined();
    expect(stationsAt(one, 'guests')).toBeUndefined();
  });

  it('describes a connection, as far as it is known', () => {
    const point = { ...ssid, device: 'phy0-ap0', frequency_mhz: 5180 };
    const rates = { signal_dbm: -52, down_kbit: 866_700, up_kbit: 6000 };
    expect(connectionOf({ mac: '', point, ...rates })).toBe(
      'Home on 5 GHz, channel 36 · -52 dBm · ↓ 867 Mbit/s · ↑ 6.00 Mbit/s',
    );
    expect(connectionOf({ mac: '', point: { ...ssid, device: 'phy0-ap0' } })).toBe('Home');
  });

  it('names the channel of a frequency', () => {
    const named = [2412, 2472, 2484, 5180, 5885, 5955, 7115, 58_320].map(channelAt);
    expect(named.map(({ band, channel }) => `${band} ${channel}`)).toEqual([
      ...['2g 1', '2g 13', '2g 14', '5g 36', '5g 177', '6g 1', '6g 233', '60g 1'],
    ]);
  });
});
