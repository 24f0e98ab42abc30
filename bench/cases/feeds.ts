/**
 * `feeds`: what happens to nodes of one of three admins, in the feeds of all three: when it is seen at its owner and
 * when at each of the others, from the moment in which its agent said it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createLiveClient, type LiveClient } from '../../api/client/client.ts';
import { startBenchServer } from '../fleet/database.ts';
import { nodeId } from '../fleet/nodes.ts';
import { nowMs } from '../method/clock.ts';
import { quantile } from '../method/statistics.ts';
import { startSeveral, type NamedAdmin, type SeveralAdmins } from '../product/several.ts';
import type { CaseOptions } from './options.ts';

const ADMINS = 3;
const NODES = 300;
const PER_CLUSTER = 50;

/** Changes of health that are seen, and commands, unless told otherwise; the first of each are thrown away. */
const REPEATS = 150;
const COMMANDS_OF = 3;
const WARM_UPS = 10;

/** Between two changes, in ms: above the feed's interval, so that each change is one message of its own. */
const PAUSE_MS = 60;

/** A script runs for so long, in s: its feeds are open by its end. */
const SCRIPT_S = 0.4;

/** Longest wait for one thing that is to be seen everywhere, in ms. */
const SEEN_MS_MAX = 10_000;

/** Delays in s by feed and side. */
type Delays = Map<string, { readonly owner: number[]; readonly elsewhere: number[] }>;

/** One admin, its subscriptions, and what they wait for now. */
interface Watcher {
  readonly admin: NamedAdmin;
  readonly live: LiveClient;
  /** Told the id of a node that changed. */
  changed: (node: string) => void;
}

/** Three admins with the fleet spread over them; one thing happens at a time. */
export async function feeds(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const repeats = options.repeats ?? REPEATS;
  const postgres = await startBenchServer();
  try {
    const several = await startSeveral(postgres, { name: 'feeds', count: ADMINS, nodes, perCluster: PER_CLUSTER });
    try {
      await measured(several, nodes, repeats, options);
    } finally {
      await several.end();
    }
  } finally {
    await postgres.stop();
  }
}

async function measured(
  several: SeveralAdmins,
  nodes: number,
  repeats: number,
  { report }: CaseOptions,
): Promise<void> {
  await several.balanced();
  await several.allLive();
  const watchers = several.admins.map(watcherOf);
  const delays: Delays = new Map();
  try {
    await Promise.all(watchers.map(openNodes));
    await delay(1_000); // the subscribers' arrival is over
    for (let round = 0; round < repeats + WARM_UPS; round += 1)
      await oneChange(several, watchers, (round * 7) % nodes, round < WARM_UPS ? new Map() : delays);
    const commands = Math.ceil(repeats / COMMANDS_OF);
    for (let round = 0; round < commands + WARM_UPS; round += 1)
      await oneCommand(several, watchers, (round * 7) % nodes, round < WARM_UPS ? new Map() : delays);
  } finally {
    for (const { live } of watchers) live.close();
  }
  for (const [feed, sides] of delays)
    for (const side of ['owner', 'elsewhere'] as const) {
      const series = sides[side];
      report.add({
        case: 'feeds',
        side,
        feed,
        seconds: quantile(series, 0.5),
        p99: quantile(series, 0.99),
        count: series.length,
        ratio: side === 'owner' ? null : quantile(sides.owner, 0.5) / quantile(series, 0.5),
        verdict: 'none',
      });
    }
}

function watcherOf(admin: NamedAdmin): Watcher {
  const { process, place } = admin;
  if (process === null) throw new Error(`${admin.name} does not run`);
  const live = createLiveClient({ url: `http://127.0.0.1:${place.port}`, key: place.masterKey });
  return { admin, live, changed() {} };
}

/** Resolves with the whole snapshot. */
function openNodes(watcher: Watcher): Promise<void> {
  return new Promise((resolve, reject) => {
    watcher.live.api.nodes.watch.subscribe(
      {},
      {
        onData: ({ data }) => {
          if (data.type === 'snapshot' && data.page === data.pages) resolve();
          if (data.type === 'changed') for (const { id } of data.nodes) watcher.changed(id);
        },
        onError: reject,
      },
    );
  });
}

/** Of which admin a node is. */
async function ownerOf(several: SeveralAdmins, index: number): Promise<string> {
  return (await several.owners()).get(`bench-${Math.floor(index / PER_CLUSTER)}`) ?? '';
}

async function oneChange(
  several: SeveralAdmins,
  watchers: readonly Watcher[],
  index: number,
  delays: Delays,
): Promise<void> {
  const owner = await ownerOf(several, index);
  const seen = Promise.all(
    watchers.map(
      (watcher) =>
        new Promise<readonly [Watcher, number]>((resolve) => {
          watcher.changed = (node) => {
            if (node === nodeId(index)) resolve([watcher, nowMs()]);
          };
        }),
    ),
  );
  const beganMs = await several.agents.ask<number>('flip', { from: index, to: index + 1 });
  for (const [{ admin }, atMs] of await inTime('a change of health', seen))
    add(delays, 'nodes.watch', admin.name === owner, atMs - beganMs);
  await delay(PAUSE_MS);
}

async function oneCommand(
  several: SeveralAdmins,
  watchers: readonly Watcher[],
  index: number,
  delays: Delays,
): Promise<void> {
  const owner = await ownerOf(several, index);
  const http = watchers[0]?.admin.process?.http;
  if (http === undefined) throw new Error('no admin runs');
  const { id } = await http.call<{ readonly id: string }>('POST', '/commands', {
    command_text: `sleep ${SCRIPT_S}`,
    targeting: { type: 'nodes', node_ids: [nodeId(index)] },
  });
  const [execution] = await http.call<readonly { readonly id: string }[]>(
    'GET',
    `/command_executions?command_id__in=${id}`,
  );
  const all = watchers.map(async (watcher) => {
    const [ended, printed] = [endOf(watcher, id), outputOf(watcher, execution?.id ?? '')];
    return [watcher, await ended, await printed] as const;
  });
  const seen = await inTime('the end of a command', Promise.all(all));
  const beganMs = await several.agents.ask<number>('lastEnd');
  for (const [{ admin }, endedMs, printedMs] of seen) {
    add(delays, 'commands.watch', admin.name === owner, endedMs - beganMs);
    add(delays, 'executions.tail', admin.name === owner, printedMs - beganMs);
  }
}

/** When this admin tells that its execution is over. */
function endOf({ live }: Watcher, id: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const subscription = live.api.commands.watch.subscribe(
      { id },
      {
        onData: ({ data }) => {
          if (data.type === 'removed' || !data.executions.some(({ status }) => status === 'completed')) return;
          resolve(nowMs());
          subscription.unsubscribe();
        },
        onError: reject,
      },
    );
  });
}

/** When this admin tells what it printed. */
function outputOf({ live }: Watcher, execution: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const subscription = live.api.executions.tail.subscribe(
      { id: execution },
      {
        onData: ({ data }) => {
          if (data.type !== 'output') return;
          resolve(nowMs());
          subscription.unsubscribe();
        },
        onError: reject,
      },
    );
  });
}

function add(delays: Delays, feed: string, isOwner: boolean, ms: number): void {
  const sides = delays.get(feed) ?? { owner: [], elsewhere: [] };
  delays.set(feed, sides);
  sides[isOwner ? 'owner' : 'elsewhere'].push(ms / 1_000);
}

/** Rejects when it takes too long. */
async function inTime<T>(what: string, seen: Promise<T>): Promise<T> {
  const late = delay(SEEN_MS_MAX, null, { ref: false }).then(() => {
    throw new Error(`${what} was not seen everywhere within ${SEEN_MS_MAX / 1_000} s`);
  });
  return Promise.race([seen, late]);
}
