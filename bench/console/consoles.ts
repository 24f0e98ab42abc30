/**
 * `console server`: what 1,000 open consoles cost the admin, beside as many subscribers of `nodes.watch` with a key. A
 * console here is what a page has of the service while it only shows nodes: a session of its own, its connection, the
 * feed, and a sign of life every 15 s.
 * `console overviews`: the same with what an open overview asks besides, each 10 s.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { CaseOptions } from '../cases/options.ts';
import { compare, type Target } from '../cases/findings.ts';
import { nodeId } from '../fleet/nodes.ts';
import { interleave, type Interleaved, type Sample, type Side } from '../method/interleave.ts';
import { cpuMs, rssBytes } from '../method/usage.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import type { Product } from '../product/contestant.ts';
import { originOf, signIn } from './browser.ts';

const SUBSCRIBERS = 1_000;
const REPEATS = 3;

/** Changes a round, and what lies between two, in ms: above the feed's interval, so that each is one message. */
const CHANGES = 40;
const PAUSE_MS = 60;

/**
 * The subscribers are left alone for so long, in s, so that what they cost by being there is in it: one round of what
 * open overviews ask.
 */
const IDLE_SECONDS = 10;

/** What an open overview asks each 10 s. Source: console/pages/overview.tsx. */
const OVERVIEW_POLLS = ['get_overview', 'check_admin_health'] as const;

/** Least share that the processor time of subscribers is of that of consoles. Source: docs/performance.md. */
const RATIO_MIN = 0.9;

/** Sign-ins under way at a time. */
const SIGN_INS_AT_ONCE = 8;

/** Both in turns, on one admin. */
export async function consoles(
  options: CaseOptions,
  product: Product,
  subscribers: number = SUBSCRIBERS,
): Promise<void> {
  const cookies = await signIns(product, subscribers);
  const sides: Side[] = [
    side('floor', product, {
      url: `ws://127.0.0.1:${product.place.port}/api/trpc`,
      key: product.place.masterKey,
      subscribers,
    }),
  ];
  const pages = {
    url: `ws://127.0.0.1:${product.place.port}/console/live`,
    cookies,
    origin: originOf(product.place),
    subscribers,
  };
  if (!options.floorOnly)
    sides.push(side('product', product, pages), side('overviews', product, { ...pages, polls: OVERVIEW_POLLS }));
  const result = await interleave(sides, options.repeats ?? REPEATS);
  // seconds are of processor time here, which neighbours disturb less than the clock
  const target: Target = ({ ratio }) => ratio !== null && ratio >= RATIO_MIN;
  for (const finding of compare('console server', { subscribers }, of(result, 'product'), target))
    options.report.add(finding);
  for (const finding of compare('console overviews', { subscribers }, of(result, 'overviews')))
    options.report.add(finding);
}

/** One side, beside the subscribers. */
function of(result: Interleaved, name: string): Interleaved {
  return { ...result, samples: new Map([...result.samples].filter(([one]) => one === 'floor' || one === name)) };
}

async function signIns({ place }: Product, count: number): Promise<readonly string[]> {
  const cookies: string[] = [];
  const one = async (): Promise<void> => {
    for (let left = Math.ceil(count / SIGN_INS_AT_ONCE); left > 0 && cookies.length < count; left -= 1)
      cookies.push(await signIn(place));
  };
  await Promise.all(Array.from({ length: SIGN_INS_AT_ONCE }, one));
  return cookies.slice(0, count);
}

function side(name: string, product: Product, watch: object): Side {
  return {
    name,
    run: async () => {
      const worker = await startWorker(new URL('../fleet/watchers.ts', import.meta.url));
      try {
        await worker.ask('watch', { ...watch, input: { cluster_name: 'bench-0' } });
        await delay(2_000); // their arrival is over
        return await measured(product, worker);
      } finally {
        await worker.end();
        await delay(1_000); // their going is over
      }
    },
  };
}

/** What came of what overviews asked. */
interface Polled {
  readonly answered: number;
  readonly failed: number;
}

async function measured({ admin, agents }: Product, worker: Worker): Promise<Sample> {
  await worker.ask('polled');
  const before = cpuMs(admin.pid);
  await delay(IDLE_SECONDS * 1_000);
  const idleMs = cpuMs(admin.pid) - before;
  const arrived: number[] = [];
  for (let index = 0; index < CHANGES; index += 1) {
    await worker.ask('expect', nodeId(index));
    const began = await agents.worker.ask<number>('flip', { from: index, to: index + 1 });
    arrived.push((await worker.ask<number>('arrived')) - began);
    await delay(PAUSE_MS);
  }
  const allMs = cpuMs(admin.pid) - before;
  const { answered, failed } = await worker.ask<Polled>('polled');
  return {
    seconds: allMs / 1_000,
    readings: {
      idle_cpu_ms: idleMs,
      change_cpu_ms: (allMs - idleMs) / CHANGES,
      arrived_ms: arrived.toSorted((one, other) => one - other)[CHANGES / 2] ?? Number.NaN,
      rss_mib: rssBytes(admin.pid) / 1_048_576,
      polls_answered: answered,
      polls_failed: failed,
    },
  };
}
