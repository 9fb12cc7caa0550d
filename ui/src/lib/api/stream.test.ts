// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { Fault } from './errors';
import { EventParser, subscribe, type StreamEvent } from './stream';

const recorded = 'event: tick\ndata: {"seq":1,"text":"hello"}\n\n';
const tick = { event: 'tick', data: '{"seq":1,"text":"hello"}' };

describe('EventParser', () => {
  it('reads what uhttpd sends', () => {
    expect(new EventParser().push(recorded + recorded)).toEqual([tick, tick]);
  });

  it('does not care where the text is cut', () => {
    const text = recorded + recorded.replaceAll('\n', '\r\n');
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second += 7) {
        const parser = new EventParser();
        const parts = [text.slice(0, first), text.slice(first, second), text.slice(second)];
        expect(parts.flatMap((part) => parser.push(part))).toEqual([tick, tick]);
      }
    }
  });

  it('joins lines of data, and skips comments, other fields and empty events', () => {
    const parser = new EventParser();
    expect(parser.push(': hello\nid: 4\ndata:a\ndata: b\ndata\n\n\nevent: x\n\n')).toEqual([
      { event: 'message', data: 'a\nb\n' },
    ]);
  });

  it('keeps an event back until its empty line', () => {
    const parser = new EventParser();
    expect(parser.push('event: tick\ndata: 1\n')).toEqual([]);
    expect(parser.push('\n')).toEqual([{ event: 'tick', data: '1' }]);
  });
});

function streamOf(chunks: Uint8Array[], end: 'close' | 'break'): Response {
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks.shift();
      if (chunk) controller.enqueue(chunk);
      else if (end === 'close') controller.close();
      else controller.error(new TypeError('network error'));
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
}

async function collect(response: Response, asked: RequestInit[] = []) {
  const get = ((_: unknown, init: RequestInit) => {
    asked.push(init);
    return Promise.resolve(response);
  }) as typeof fetch;
  const events: StreamEvent[] = [];
  const signal = new AbortController().signal;
  try {
    for await (const event of subscribe('/ubus', 'fastpath', 'abc', signal, get))
      events.push(event);
    return { events, fault: undefined };
  } catch (fault) {
    return { events, fault: fault as Fault };
  }
}

describe('subscribe', () => {
  it('sends the session as a bearer and decodes letters cut in half', async () => {
    const bytes = new TextEncoder().encode('event: tick\ndata: "grüße"\n\n');
    const asked: RequestInit[] = [];
    const parts = [bytes.slice(0, 21), bytes.slice(21)];
    const { events } = await collect(streamOf(parts, 'close'), asked);
    expect(events).toEqual([{ event: 'tick', data: '"grüße"' }]);
    expect(asked[0]?.headers).toMatchObject({ Authorization: 'Bearer abc' });
  });

  it('is denied where uhttpd refuses with 200, and where there is no such address', async () => {
    const json = { headers: { 'Content-Type': 'application/json' } };
    const refused = await collect(new Response('{"code":-13,"message":"Permission denied"}', json));
    expect(refused.fault?.kind).toBe('denied');
    const missing = await collect(new Response('', { status: 404 }));
    expect(missing.fault?.kind).toBe('denied');
  });

  it('is unreachable when the stream breaks, after what came before', async () => {
    const { events, fault } = await collect(
      streamOf([new TextEncoder().encode(recorded)], 'break'),
    );
    expect(events).toEqual([tick]);
    expect(fault?.kind).toBe('unreachable');
  });
});
