// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { setLanguage } from '../i18n/t';
import { Fault, type FaultKind } from './errors';
import { Fastpath, logIn } from './fastpath';
import { NULL_SESSION, Ubus } from './ubus';

/** A router that gives each call the same answer and records the requests. */
function router(answer: string | (() => Promise<Response>)) {
  const asked: { params: [string, string, string, object] }[] = [];
  const fetch = (_: unknown, init?: RequestInit) => {
    asked.push(JSON.parse(String(init?.body)));
    return typeof answer === 'string' ? Promise.resolve(new Response(answer)) : answer();
  };
  return { asked, ubus: new Ubus({ url: '/ubus', fetch: fetch as typeof globalThis.fetch }) };
}

async function kindOf(call: Promise<unknown>): Promise<FaultKind> {
  const fault = await call.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  expect(fault).toBeInstanceOf(Fault);
  return (fault as Fault).kind;
}

// Answers recorded from uhttpd.
const login =
  '{"jsonrpc":"2.0","id":1,"result":[0,{"ubus_rpc_session":"aac174533f5a3989995e0ea5e1a09813",' +
  '"timeout":300,"expires":300,"acls":{},"data":{"username":"root"}}]}';
const accessDenied = '{"jsonrpc":"2.0","id":4,"error":{"code":-32002,"message":"Access denied"}}';

describe('call', () => {
  it('returns the data of a call', async () => {
    const { ubus, asked } = router('{"jsonrpc":"2.0","id":1,"result":[0,{"x":[1,null]}]}');
    ubus.session = 'abc';
    expect(await ubus.call('fastpath', 'status', { a: 1 })).toEqual({ x: [1, null] });
    expect(asked[0]).toMatchObject({ params: ['abc', 'fastpath', 'status', { a: 1 }] });
  });

  it('returns an empty object for an empty answer', async () => {
    const { ubus } = router('{"jsonrpc":"2.0","id":12,"result":[0]}');
    expect(await ubus.call('fastpath', 'empty', {})).toEqual({});
  });

  it.each<[string, FaultKind]>([
    [accessDenied, 'session'],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Object not found"}}', 'absent'],
    ['{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}', 'failed'],
    ['{"jsonrpc":"2.0","id":8,"result":[6]}', 'denied'],
    ['{"jsonrpc":"2.0","id":8,"result":[4]}', 'gone'],
    ['{"jsonrpc":"2.0","id":8,"result":[7]}', 'absent'],
    ['{"jsonrpc":"2.0","id":8,"result":[2]}', 'failed'],
    ['{"jsonrpc":"2.0","id":8}', 'unreachable'],
    ['<html>a captive portal</html>', 'unreachable'],
    ['null', 'unreachable'],
  ])('recognizes %s', async (answer, kind) => {
    expect(await kindOf(router(answer).ubus.call('fastpath', 'status', {}))).toBe(kind);
  });

  it('repeats a read-only call once if rpcd lost the answer', async () => {
    const lost = '{"jsonrpc":"2.0","id":1,"result":[5]}';
    const calls = async (method: string, answers: string[]) => {
      const { ubus, asked } = router(() => Promise.resolve(new Response(answers.shift())));
      const answer = await ubus.call('fastpath.change', method, {}).catch((fault: Fault) => fault);
      return { answer, asked: asked.length };
    };
    const good = '{"jsonrpc":"2.0","id":1,"result":[0,{"x":1}]}';
    expect(await calls('get', [lost, good])).toEqual({ answer: { x: 1 }, asked: 2 });
    const twice = await calls('list', [lost, lost, good]);
    expect(twice.answer).toBeInstanceOf(Fault);
    expect(twice.asked).toBe(2);
    expect((await calls('apply', [lost, good])).asked).toBe(1);
  });

  it('reports `unreachable` without an answer and for another server', async () => {
    const silent = router(() => Promise.reject(new TypeError('Failed to fetch')));
    expect(await kindOf(silent.ubus.call('fastpath', 'status', {}))).toBe('unreachable');
    const other = router(() => Promise.resolve(new Response('', { status: 502 })));
    expect(await kindOf(other.ubus.call('fastpath', 'status', {}))).toBe('unreachable');
  });

  it('throws the abort reason, not a fault, for an aborted call', async () => {
    const stop = new AbortController();
    const { ubus } = router(() => {
      stop.abort();
      return Promise.reject(new DOMException('aborted', 'AbortError'));
    });
    const call = ubus.call('fastpath', 'status', {}, stop.signal);
    await expect(call).rejects.toHaveProperty('name', 'AbortError');
  });
});

const answers = (data: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, result: [0, data] });

describe('logIn', () => {
  it('logs in without a session and stores the new one', async () => {
    const { ubus, asked } = router(login);
    ubus.session = 'old';
    const { session, browser } = await logIn(ubus, 'root', 'secret');
    expect(asked[0]?.params[0]).toBe(NULL_SESSION);
    expect(asked.map(({ params }) => params[2])).toEqual(['begin', 'login']);
    expect(asked[1]?.params[3]).toMatchObject({ username: 'root', password: 'secret' });
    expect(session).toBe('aac174533f5a3989995e0ea5e1a09813');
    expect(browser).toBeUndefined();
    expect(ubus.session).toBe(session);
  });

  it('reports `denied` for a wrong password', async () => {
    const { ubus } = router(answers({ error: { code: 'denied', text: 'wrong', wait_s: 2 } }));
    await expect(logIn(ubus, 'root', 'no')).rejects.toMatchObject({ kind: 'denied', seconds: 2 });
    expect(ubus.session).toBe(NULL_SESSION);
  });

  it('explains when an empty password is refused', async () => {
    const cause = { code: 'empty-password', params: { minutes: 15 } };
    const refused = { code: 'denied', text: 'late', cause, wait_s: 0 };
    const message = /^without a password, .* first 15 minutes/;
    await expect(logIn(router(answers({ error: refused })).ubus, 'root', '')).rejects.toMatchObject(
      { kind: 'failed', message: expect.stringMatching(message) as string },
    );
  });

  it('reports how long logins are refused', async () => {
    const { ubus } = router(answers({ error: { code: 'wait', text: 'slow', wait_s: 31 } }));
    const refused = { kind: 'slowed', seconds: 31 };
    await expect(logIn(ubus, 'root', 'no')).rejects.toMatchObject(refused);
  });

  it('explains a failure in the language of the page', async () => {
    await setLanguage('de');
    const path = '/var/run/fastpath-access.json';
    const cause = { code: 'file', params: { what: 'opening', path, said: 'No space left' } };
    const { ubus } = router(answers({ error: { code: 'failed', text: 'in English', cause } }));
    await expect(logIn(ubus, 'root', 'no')).rejects.toMatchObject({
      kind: 'failed',
      message: `${path} ist nicht verwendbar: No space left`,
    });
    await setLanguage('en');
  });

  it.each([
    ['has no such object', '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"none"}}'],
    ['grants it to nobody', accessDenied],
  ])('falls back to rpcd’s login if the router %s', async (_, refusal) => {
    const asked: string[] = [];
    const fetch = (_url: unknown, init?: RequestInit) => {
      const object = (JSON.parse(String(init?.body)) as { params: string[] }).params[1] ?? '';
      asked.push(object);
      return Promise.resolve(new Response(object === 'session' ? login : refusal));
    };
    const ubus = new Ubus({ url: '/ubus', fetch: fetch as typeof globalThis.fetch });
    await logIn(ubus, 'root', 'secret');
    expect(asked).toEqual(['fastpath.access', 'session']);
  });

  it('reports a refusal by rpcd’s login', async () => {
    const denied = '{"jsonrpc":"2.0","id":2,"result":[6]}';
    const { ubus } = router(denied);
    expect(await kindOf(logIn(ubus, 'root', 'no'))).toBe('denied');
  });
});

describe('a refused call', () => {
  /** Refuses every method; `sessionLives` decides whether the session is valid. */
  function refusing(sessionLives: boolean): Fastpath {
    const fetch = (_: unknown, init?: RequestInit) => {
      const asks = (JSON.parse(String(init?.body)) as { params: string[] }).params[1];
      const alive = '{"jsonrpc":"2.0","id":1,"result":[0,{"access":true}]}';
      return Promise.resolve(
        new Response(asks === 'session' && sessionLives ? alive : accessDenied),
      );
    };
    return new Fastpath(new Ubus({ url: '/ubus', fetch: fetch as typeof globalThis.fetch }));
  }

  it('distinguishes a missing grant from a dead session', async () => {
    expect(await kindOf(refusing(true).call('engine', { set: 'off' }))).toBe('denied');
    expect(await kindOf(refusing(false).call('engine', { set: 'off' }))).toBe('session');
  });
});
