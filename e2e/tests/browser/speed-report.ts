// SPDX-License-Identifier: GPL-2.0-or-later
/** Figures by name; null if a page lacks the feature. */
export type Figures = Record<string, number | null>;

const middle = (all: readonly number[]) => {
  const sorted = [...all].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const [low = 0, high = 0] = [sorted[sorted.length % 2 ? half : half - 1], sorted[half]];
  return (low + high) / 2;
};

export function median(all: readonly Figures[]): Figures {
  const names = Object.keys(all[0] ?? {});
  return Object.fromEntries(
    names.map((name) => {
      const known = all.map((each) => each[name] ?? null).filter((each) => each !== null);
      return [name, known.length > 0 ? middle(known) : null];
    }),
  );
}

export function table(pages: readonly (readonly [string, Figures])[]): string {
  const names = Object.keys(pages[0]?.[1] ?? {});
  const width = Math.max(...names.map(({ length }) => length));
  const cells = (all: readonly string[]) => all.map((each) => each.padStart(10)).join(' ');
  const head = `${'medians'.padEnd(width)} ${cells(pages.map(([name]) => name))}`;
  const rows = names.map((name) => {
    const values = pages.map(([, figures]) => figures[name]?.toFixed(0) ?? '–');
    return `${name.padEnd(width)} ${cells(values)}`;
  });
  return [head, ...rows, ''].join('\n');
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** Timestamp in µs of a clock that all processes share. */
  ts: number;
  tdur?: number;
  args?: { name?: string };
}

/** CPU times of the tasks on the page's main thread, in ms. */
export interface TaskTimes {
  all: number[];
  /** Tasks between the navigation and the first contentful paint. */
  untilPaint: number[];
}

export function taskTimes(trace: string): TaskTimes {
  const { traceEvents } = JSON.parse(trace) as { traceEvents: TraceEvent[] };
  const place = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const main = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(place),
  );
  const tasks = traceEvents.filter(
    (each) => each.ph === 'X' && each.name.endsWith('::RunTask') && main.has(place(each)),
  );
  const lastOf = (name: string, before = Infinity) =>
    Math.max(0, ...traceEvents.filter((e) => e.name === name && e.ts < before).map((e) => e.ts));
  const paint = lastOf('firstContentfulPaint');
  const start = lastOf('navigationStart', paint);
  const ms = (some: TraceEvent[]) => some.map(({ tdur = 0 }) => tdur / 1000);
  return { all: ms(tasks), untilPaint: ms(tasks.filter((e) => e.ts > start && e.ts < paint)) };
}
