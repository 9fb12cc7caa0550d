// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from './errors';

/** One event of a `text/event-stream`. */
export interface StreamEvent {
  event: string;
  data: string;
}

/**
 * Reads `text/event-stream` from pieces of text cut anywhere, even inside a line break.
 * Only `event` and `data` matter here: uhttpd sends neither `id` nor `retry`.
 */
export class EventParser {
  private rest = '';
  private event = '';
  private data: string[] = [];

  push(text: string): StreamEvent[] {
    const events: StreamEvent[] = [];
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      const complete = this.line(line.endsWith('\r') ? line.slice(0, -1) : line);
      if (complete) events.push(complete);
    }
    return events;
  }

  private line(line: string): StreamEvent | undefined {
    if (line === '') return this.dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.event = value;
    if (field === 'data') this.data.push(value);
    return undefined;
  }

  private dispatch(): StreamEvent | undefined {
    const event = this.event || 'message';
    const data = this.data;
    this.event = '';
    this.data = [];
    return data.length > 0 ? { event, data: data.join('\n') } : undefined;
  }
}

/**
 * The notifications of a ubus object, until the router ends the stream.
 *
 * `fetch` instead of `EventSource`, because uhttpd takes the session only from the
 * Authorization header, which an EventSource cannot set.
 *
 * @throws {Fault} `denied` when the session may not subscribe or the router knows no stream,
 *   `unreachable` when the connection fails or breaks.
 */
export async function* subscribe(
  url: string,
  object: string,
  session: string,
  signal: AbortSignal,
  get: typeof fetch = (input, init) => globalThis.fetch(input, init),
): AsyncGenerator<StreamEvent> {
  const response = await open(`${url}/subscribe/${object}`, session, signal, get);
  const parser = new EventParser();
  const reader = response.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(value);
    }
  } catch (cause) {
    if (signal.aborted) return;
    throw new Fault('unreachable', 'the event stream broke', { cause });
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function open(url: string, session: string, signal: AbortSignal, get: typeof fetch) {
  let response: Response;
  try {
    response = await get(url, {
      headers: { Authorization: `Bearer ${session}`, Accept: 'text/event-stream' },
      cache: 'no-store',
      signal,
    });
  } catch (cause) {
    throw new Fault('unreachable', 'no answer from the router', { cause });
  }
  const type = response.headers.get('Content-Type') ?? '';
  if (!response.ok || !type.startsWith('text/event-stream') || !response.body) {
    await response.body?.cancel();
    // uhttpd refuses with 200 and {"code":-13}; an older one answers 404.
    throw new Fault('denied', `no event stream (HTTP ${response.status})`);
  }
  return response.body;
}
