/** `soak`: commands at an admin that does not own their nodes, for as long as is asked: how much its memory grows. */
import { setTimeout as delay } from 'node:timers/promises';
import { startBenchServer, withClient } from '../fleet/database.ts';
import { nodeId } from '../fleet/nodes.ts';
import { slope } from '../method/statistics.ts';
import { rssBytes } from '../method/usage.ts';
import type { AdminProcess } from '../product/admin.ts';
import { startProduct, type Product } from '../product/contestant.ts';
import { startPeer } from '../product/peers.ts';
import type { CaseOptions } from './options.ts';

const NODES = 50;
const SECONDS = 3_600;
const RATE = 100;

/** Between two looks at the memory, in s. Each collects all garbage first: what is seen is what is held. */
const LOOK_SECONDS = 15;

/** What is left out of the slope at the beginning: code is compiled, pools and caches fill. */
const WARM_UP_SHARE = 0.25;

/** Target, in MiB a minute. */
const GROWTH_MIB_A_MINUTE_MAX = 0.1;

/** One look. */
interface Look {
  readonly minute: number;
  readonly heldMib: number;
  readonly rssMib: number;
}

/**
 * Two real admins and simulated agents, all with the owner; commands of one node each at the other admin, so many a
 * second.
 */
export async function soak(options: CaseOptions): Promise<void> {
  const [nodes, seconds, rate] = [options.nodes[0] ?? NODES, options.seconds ?? SECONDS, options.rate ?? RATE];
  const postgres = await startBenchServer();
  let product: Product | undefined;
  let other: AdminProcess | undefined;
  try {
    product = await startProduct(postgres, nodes);
    other = await startPeer(product.place, 'bench-other');
    const looks = await load(other, { nodes, seconds, rate });
    await delay(LOOK_SECONDS * 1_000); // what is under way ends
    const counted = looks.slice(Math.floor(looks.length * WARM_UP_SHARE));
    const growth = slope(counted.map(({ minute, heldMib }) => [minute, heldMib]));
    const {
      rows: [row],
    } = await withClient(product.database, (client) =>
      client.query<{ all: number; open: number }>(
        `select count(*)::int as all, (count(*) filter (where finished_at is null))::int as open from command_execution`,
      ),
    );
    options.report.add({
      case: 'soak',
      side: 'product',
      nodes,
      seconds,
      ratio: null,
      rate,
      commands: row?.all ?? 0,
      unfinished: row?.open ?? 0,
      actors_left: await commandsAt(other),
      held_mib: counted.at(-1)?.heldMib ?? 0,
      held_mib_a_minute: growth,
      rss_mib: counted.at(-1)?.rssMib ?? 0,
      rss_mib_a_minute: slope(counted.map(({ minute, rssMib }) => [minute, rssMib])),
      verdict: growth <= GROWTH_MIB_A_MINUTE_MAX ? 'met' : 'missed',
    });
  } finally {
    await other?.stop();
    await product?.end();
    await postgres.stop();
  }
}

async function load(
  other: AdminProcess,
  { nodes, seconds, rate }: { readonly nodes: number; readonly seconds: number; readonly rate: number },
): Promise<readonly Look[]> {
  const inspector = await other.inspect();
  const looks: Look[] = [];
  const underWay = new Set<Promise<unknown>>();
  const began = performance.now();
  const passed = (): number => (performance.now() - began) / 1_000;
  let created = 0;
  let refused = 0;
  for (let now = 0; now < seconds; now = passed()) {
    for (; created < now * rate; created += 1) {
      const one = other.http
        .call('POST', '/commands', {
          command_text: 'true',
          targeting: { type: 'nodes', node_ids: [nodeId(created % nodes)] },
        })
        .catch(() => {
          refused += 1;
        })
        .finally(() => underWay.delete(one));
      underWay.add(one);
    }
    if (now >= (looks.length + 1) * LOOK_SECONDS) {
      await inspector.collectGarbage();
      const look = {
        minute: now / 60,
        heldMib: (await inspector.heldBytes()) / 1_048_576,
        rssMib: rssBytes(other.pid) / 1_048_576,
      };
      looks.push(look);
      process.stderr.write(
        `${look.minute.toFixed(2)} min: ${look.heldMib.toFixed(2)} MiB held, ${look.rssMib.toFixed(0)} MiB resident, ${await commandsAt(other)} actors of commands, ${created} created, ${refused} refused\n`,
      );
    }
    await delay(10);
  }
  await Promise.all(underWay);
  inspector.close();
  return looks;
}

/** Actors of commands that live at an admin. */
async function commandsAt(admin: AdminProcess): Promise<number> {
  const { body } = await admin.http.request('GET', '/api/v1/admins/me/metrics/raw');
  return Number(/actors\{kind="command"[^}]*\} (\d+)/u.exec(body)?.[1] ?? Number.NaN);
}
