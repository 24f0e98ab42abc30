/**
 * `console frames` and `console storm`: the list of nodes while nodes change, and how soon it shows that all of them
 * did.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import type { CaseOptions } from '../cases/options.ts';
import { verdict } from '../cases/findings.ts';
import { awaitCalm, readCpuTimes, spareBetween } from '../method/machine.ts';
import { quantile, slope } from '../method/statistics.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import type { Product } from '../product/contestant.ts';
import { openPage, originOf, signIn, type OpenPage } from './browser.ts';
import { framesWhile, listed, trueAt } from './frames.ts';

/** Changes a second unless told otherwise, and how often some are made, in ms. */
const RATE = 200;
const STEP_MS = 50;

/** Length of the load unless told otherwise, in s; the figure of docs/performance.md is of 300. */
const SECONDS = 30;

/** Pages that are looked at while nodes change. */
const PAGES = ['nodes', 'overview'] as const;

/** Frames of the empty page are taken for so long, in s. */
const FLOOR_SECONDS = 5;

/** Frames between two looks at the memory, in s. */
const LOOK_SECONDS = 5;

/** Limits. Source: docs/performance.md. */
const FRAME_MS_MAX = 20;
const GROWTH_MIB_PER_MINUTE_MAX = 0.2;
const STORM_SECONDS_MAX = 2;

/** A growth is judged from this length on, in s: before, what a page learns once outweighs it. */
const JUDGED_SECONDS = 300;

/**
 * What a page learns once is no growth: why each node was not well, and that it is well again. Where a growth is
 * judged, every node has changed so often before; a shorter run leaves a page so long, in s.
 */
const FLIPS_LEARNT = 2;
const LEARNS_SECONDS_MIN = 2;

const STORMS = 5;

/** Timeout of a page that is to show what is so, in ms. */
const SHOWN_MS_MAX = 60_000;

/** Makes nodes change, and knows how many are unhealthy by now. */
class Changes {
  readonly #worker: Worker;
  readonly #nodes: number;
  readonly #unhealthy: boolean[];
  #next = 0;
  #made = 0;

  constructor({ agents: { worker } }: Product, nodes: number) {
    this.#worker = worker;
    this.#nodes = nodes;
    this.#unhealthy = Array.from({ length: nodes }, () => false);
  }

  get unhealthy(): number {
    return this.#unhealthy.filter(Boolean).length;
  }

  /** So many a second, one node after the other; returns how many a second there were. */
  async during(seconds: number, rate: number): Promise<number> {
    const began = performance.now();
    const before = this.#made;
    for (let step = 1; step * STEP_MS <= seconds * 1_000; step += 1) {
      await this.#flip(Math.round((step * STEP_MS * rate) / 1_000) - (this.#made - before));
      await delay(Math.max(0, step * STEP_MS - (performance.now() - began)));
    }
    return (this.#made - before) / ((performance.now() - began) / 1_000);
  }

  /** All of them at once; returns when that began, Unix time in ms. */
  async all(): Promise<number> {
    const began = await this.#worker.ask<number>('flip', { from: 0, to: this.#nodes });
    this.#noted(0, this.#nodes);
    return began;
  }

  async #flip(count: number): Promise<void> {
    for (let left = count; left > 0;) {
      const from = this.#next;
      const to = Math.min(this.#nodes, from + left);
      await this.#worker.ask('flip', { from, to });
      this.#noted(from, to);
      left -= to - from;
      this.#next = to % this.#nodes;
    }
  }

  #noted(from: number, to: number): void {
    for (let index = from; index < to; index += 1) this.#unhealthy[index] = this.#unhealthy[index] !== true;
    this.#made += to - from;
  }
}

/** Both parts, on one fleet. */
export async function changes(
  options: CaseOptions,
  browser: Browser,
  product: Product,
  { nodes, parts }: { readonly nodes: number; readonly parts: readonly string[] },
): Promise<void> {
  const made = new Changes(product, nodes);
  const cookie = await signIn(product.place);
  if (parts.includes('frames')) {
    await emptyFrames(options, browser, made);
    for (const name of PAGES) await frames(options, { browser, product, cookie, made, nodes }, name);
  }
  if (parts.includes('storm')) await storms(options, { browser, product, cookie, made, nodes });
}

interface Kit {
  readonly browser: Browser;
  readonly product: Product;
  readonly cookie: string;
  readonly made: Changes;
  readonly nodes: number;
}

/** What the machine leaves a page that does nothing, while the service has the same work. */
async function emptyFrames({ report, rate = RATE }: CaseOptions, browser: Browser, made: Changes): Promise<void> {
  const calm = await awaitCalm();
  const open = await openPage(browser, 'about:blank', null);
  try {
    const apart = await framesWhile(open, async () => void (await made.during(FLOOR_SECONDS, rate)));
    report.add({
      case: 'console frames',
      side: 'floor',
      seconds: FLOOR_SECONDS,
      ...framesOf(apart),
      ratio: null,
      idle_before: calm.idlePercent,
      verdict: 'none',
    });
  } finally {
    await open.close();
  }
}

function framesOf(
  apart: readonly number[],
): Record<'frame_ms' | 'frame_p95_ms' | 'frame_p99_ms' | 'frame_longest_ms', number> {
  return {
    frame_ms: quantile(apart, 0.5),
    frame_p95_ms: quantile(apart, 0.95),
    frame_p99_ms: quantile(apart, 0.99),
    frame_longest_ms: quantile(apart, 1),
  };
}

async function openList({ browser, product, cookie, nodes }: Kit, name: (typeof PAGES)[number]): Promise<OpenPage> {
  const address = `${originOf(product.place)}/console${name === 'nodes' ? '/nodes' : ''}`;
  const open = await openPage(browser, address, cookie);
  const shown = name === 'nodes' ? '.list .grid .body .row' : '.tile .count';
  await open.page.locator(shown).first().waitFor();
  if (name === 'overview') await open.page.getByText(nodes.toLocaleString('en'), { exact: true }).first().waitFor();
  return open;
}

/** One page while nodes change; at the end it must say what is so. */
async function frames(options: CaseOptions, kit: Kit, name: (typeof PAGES)[number]): Promise<void> {
  const { report, seconds = SECONDS, rate = RATE } = options;
  const calm = await awaitCalm();
  const open = await openList(kit, name);
  try {
    const learnsSeconds = seconds < JUDGED_SECONDS ? LEARNS_SECONDS_MIN : (FLIPS_LEARNT * kit.nodes) / rate;
    await kit.made.during(learnsSeconds, rate);
    const before = readCpuTimes();
    const apart: number[] = [];
    const held: [minutes: number, mib: number][] = [];
    const rates: number[] = [];
    let busy = 0;
    const began = performance.now();
    const look = async (): Promise<void> => {
      const mib = (await open.heldBytes()) / 1_048_576;
      held.push([(performance.now() - began) / 60_000, mib]);
    };
    await look();
    for (let left = seconds; left > 0; left -= LOOK_SECONDS) {
      const busyBefore = await open.busySeconds();
      const some = await framesWhile(open, async () => {
        rates.push(await kit.made.during(Math.min(left, LOOK_SECONDS), rate));
      });
      busy += (await open.busySeconds()) - busyBefore;
      apart.push(...some);
      await look();
    }
    const spare = spareBetween(before, readCpuTimes());
    const isRight = await saysWhatIsSo(open, name, kit.made.unhealthy);
    const common = { side: 'product', page: name, nodes: kit.nodes, ratio: null, idle_before: calm.idlePercent };
    const measured = framesOf(apart);
    report.add({
      case: 'console frames',
      ...common,
      seconds,
      ...measured,
      changes_per_second: quantile(rates, 0.5),
      main_thread_percent: (busy / seconds) * 100,
      idle: spare.idlePercent,
      steal: spare.stealPercent,
      verdict: verdict(calm.quiet, isRight && measured.frame_p95_ms <= FRAME_MS_MAX),
    });
    const growth = slope(held);
    report.add({
      case: 'console memory',
      ...common,
      seconds,
      held_mib: held.at(-1)?.[1] ?? null,
      growth_mib_per_minute: growth,
      verdict: seconds < JUDGED_SECONDS ? 'none' : verdict(true, growth <= GROWTH_MIB_PER_MINUTE_MAX),
    });
    if (!isRight) report.note(`${name}: what the page said at the end was not so: the frames are no figure`);
  } finally {
    await open.close();
  }
}

async function saysWhatIsSo(open: OpenPage, name: (typeof PAGES)[number], unhealthy: number): Promise<boolean> {
  const isSo =
    name === 'nodes'
      ? `${listed('unhealthy')} === ${unhealthy}`
      : `[...document.querySelectorAll('.tile .count')].some(({ textContent }) => textContent === '${unhealthy.toLocaleString('en')}')`;
  return (await trueAt(open, isSo, SHOWN_MS_MAX)) !== null;
}

/**
 * The whole fleet changes at once, in turns with nothing: a lean subscriber beside the page says when the feed had told
 * all.
 */
async function storms({ report, repeats = STORMS }: CaseOptions, kit: Kit): Promise<void> {
  const { product, made, nodes } = kit;
  const subscriber = await startWorker(new URL('../fleet/watchers.ts', import.meta.url));
  await subscriber.ask('watch', {
    url: `ws://127.0.0.1:${product.place.port}/api/trpc`,
    key: product.place.masterKey,
    input: {},
    subscribers: 1,
  });
  const open = await openList(kit, 'nodes');
  try {
    const calm = await awaitCalm();
    const [shown, told, behind, longest]: [number[], number[], number[], number[]] = [[], [], [], []];
    for (let round = 0; round < repeats + 1; round += 1) {
      const wanted = nodes - made.unhealthy;
      await subscriber.ask('forget');
      const isSettled = trueAt(open, `${listed('unhealthy')} === ${wanted}`, SHOWN_MS_MAX);
      const isTold = subscriber.ask<number>('consistent', nodes);
      let beganMs = 0;
      const apart = await framesWhile(open, async () => {
        beganMs = await made.all();
        await Promise.all([isSettled, isTold]);
      });
      const [shownMs, toldMs] = [await isSettled, await isTold];
      if (shownMs === null) throw new Error(`the page did not show ${wanted} unhealthy nodes`);
      await delay(1_000);
      if (round === 0) continue; // warms up
      shown.push((shownMs - beganMs) / 1_000);
      told.push((toldMs - beganMs) / 1_000);
      behind.push(shownMs - toldMs);
      longest.push(quantile(apart, 1));
    }
    const common = { case: 'console storm', nodes, idle_before: calm.idlePercent };
    report.add({
      ...common,
      side: 'floor',
      seconds: quantile(told, 0.5),
      p95: quantile(told, 0.95),
      ratio: null,
      verdict: 'none',
    });
    report.add({
      ...common,
      side: 'product',
      seconds: quantile(shown, 0.5),
      p95: quantile(shown, 0.95),
      ratio: quantile(told, 0.5) / quantile(shown, 0.5),
      behind_feed_ms: quantile(behind, 0.5),
      frame_longest_ms: quantile(longest, 1),
      verdict: verdict(calm.quiet, quantile(shown, 0.5) <= STORM_SECONDS_MAX),
    });
  } finally {
    await open.close();
    await subscriber.end();
  }
}
