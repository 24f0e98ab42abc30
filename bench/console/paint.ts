/**
 * `console paint`: from the address to the first paint and to a page that answers, with nothing in the browser's cache.
 */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import type { CaseOptions } from '../cases/options.ts';
import { compare, type Target } from '../cases/findings.ts';
import { interleave, type Interleaved, type Side } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import { asked, openPage, originOf, signIn, type ConsolePlace } from './browser.ts';

const REPEATS = 7;
const WARM_UPS = 2;

/** Limits of both, in s. Source: docs/performance.md. */
const SECONDS_MAX = 0.5;

/** A page answers from when on no task of its scripts was longer than 50 ms for this time, in ms. */
const CALM_MS = 1_000;

/** A page that says the same and does nothing. */
const BARE = '<!doctype html><html lang="en"><title>bare</title><main><h1>Overview</h1></main></html>';

/** Notes the first paint, long tasks, and when the page and then all its nodes were drawn. */
const NOTES = (nodes: string): string => `(() => {
  const bench = (globalThis.bench = { painted: null, drawn: null, whole: null, long: [] });
  globalThis.benchWhole = new Promise((resolve) => {
    const ask = () => (bench.whole !== null && bench.painted !== null ? resolve(null) : setTimeout(ask, 50));
    ask();
  });
  new PerformanceObserver((list) => {
    for (const { name, startTime } of list.getEntries())
      if (name === 'first-contentful-paint') bench.painted = startTime;
  }).observe({ type: 'paint', buffered: true });
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) bench.long.push([startTime, startTime + duration]);
  }).observe({ type: 'longtask', buffered: true });
  const look = (now) => {
    const isDrawn = document.querySelector('main h1')?.textContent.startsWith('Overview') === true;
    if (isDrawn) bench.drawn ??= performance.now();
    const count = document.querySelector('.tile .count')?.textContent;
    if (isDrawn && (${JSON.stringify(nodes)} === '' || count === ${JSON.stringify(nodes)})) bench.whole ??= performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()`;

interface Noted {
  readonly painted: number | null;
  readonly drawn: number | null;
  readonly whole: number | null;
  readonly long: readonly (readonly [from: number, to: number])[];
}

/** The overview of somebody who is signed in, beside a bare page. */
export async function paint(options: CaseOptions, browser: Browser, place: ConsolePlace, nodes: number): Promise<void> {
  const bare = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(BARE));
  await once(bare.listen(0, '127.0.0.1'), 'listening');
  const { port } = bare.address() as AddressInfo;
  const cookie = await signIn(place);
  const sides: Side[] = [
    opened('floor', browser, `http://127.0.0.1:${port}/`, null, ''),
    opened('product', browser, `${originOf(place)}/console`, cookie, nodes.toLocaleString('en')),
  ];
  try {
    const result = await interleave(
      options.floorOnly ? sides.slice(0, 1) : sides,
      options.repeats ?? REPEATS,
      WARM_UPS,
    );
    const target: Target = ({ series }) => quantile(series, 0.5) <= SECONDS_MAX;
    for (const [name, reading] of [
      ['first paint', 'painted_ms'],
      ['interactive', 'interactive_ms'],
    ] as const)
      for (const finding of compare(`console ${name}`, { nodes }, by(result, reading), target))
        options.report.add(finding);
  } finally {
    bare.closeAllConnections();
    bare.close();
  }
}

function opened(name: string, browser: Browser, address: string, cookie: string | null, nodes: string): Side {
  return {
    name,
    run: async () => {
      const open = await openPage(browser, address, cookie, { before: NOTES(nodes) });
      try {
        await asked(open, 'benchWhole');
        await delay(CALM_MS * 1.2);
        const noted = await asked<Noted>(open, 'bench');
        const [painted, whole, interactive] = [noted.painted ?? 0, noted.whole ?? 0, interactiveAt(noted)];
        return {
          seconds: interactive / 1_000,
          readings: { painted_ms: painted, interactive_ms: interactive, all_nodes_ms: whole },
        };
      } finally {
        await open.close();
      }
    },
  };
}

/** When the page was drawn and its scripts let it answer, in ms. */
function interactiveAt({ drawn, long }: Noted): number {
  let at = drawn ?? Number.NaN;
  for (const [from, to] of long.toSorted(([one], [other]) => one - other))
    if (from < at + CALM_MS) at = Math.max(at, to);
  return at;
}

/** The same runs, judged by one of their readings in ms. */
function by(result: Interleaved, reading: string): Interleaved {
  return {
    ...result,
    samples: new Map(
      [...result.samples].map(([side, samples]) => [
        side,
        samples.map((sample) => ({ ...sample, seconds: (sample.readings[reading] ?? Number.NaN) / 1_000 })),
      ]),
    ),
  };
}
