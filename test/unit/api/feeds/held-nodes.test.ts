/** What it costs to hold the nodes of a large fleet, and to follow it. */
import v8 from 'node:v8';
import vm from 'node:vm';
import test from 'ava';
import type { Filter } from '../../../../actors/filters.ts';
import { createCompactor } from '../../../../api/feeds/compact-node.ts';
import type { Feeds } from '../../../../api/feeds/feeds.ts';
import { WATCHED_NODES_MAX } from '../../../../api/feeds/limits.ts';
import { freshNode, readsOfFresh } from '../../../support/api/fresh-nodes.ts';
import { createFixture, granted } from '../../../support/api/rows.ts';

/** What a node may take, and what one more filter may take for it, in bytes. */
const NODE_BYTES_MAX = 1_229;
const FURTHER_FILTER_BYTES_MAX = 60;

test.serial('a node takes 1.2 KiB, and hardly more for a second filter that has it', async (t) => {
  const collect = collector();
  const { feeds } = createFixture(readsOfFresh(WATCHED_NODES_MAX));
  const used = (): number => {
    collect();
    return process.memoryUsage().heapUsed / WATCHED_NODES_MAX;
  };
  const before = used();

  t.is(await readAll(feeds, []), WATCHED_NODES_MAX);
  const first = used();
  t.is(await readAll(feeds, [{ field: 'status', op: 'in', value: ['healthy'] }]), WATCHED_NODES_MAX);
  const second = used();

  t.log(`${(first - before).toFixed(0)} bytes, and ${(second - first).toFixed(0)}`);
  t.true(first - before <= NODE_BYTES_MAX, `${first - before} bytes`);
  t.true(second - first <= FURTHER_FILTER_BYTES_MAX, `${second - first} bytes`);
  feeds.close();
});

test('a node that was made small says the same', (t) => {
  const compact = createCompactor();
  for (let n = 0; n < 20; n += 1) t.deepEqual(compact(freshNode(n)), freshNode(n));
  const bare = { ...freshNode(1), facts: null, status_evidence: null, last_seen_at: null, enrollment_key_id: null };
  t.deepEqual(compact(bare), bare);
  const evidence = { ...freshNode(2).status_evidence!, services: [{ name: 'ssh', problem: 'gone' }], session: null };
  const ill = { ...freshNode(2), status_reason: 'ssh: gone', status_evidence: evidence, labels: {} };
  t.deepEqual(compact(ill), ill);
});

/** Reads a snapshot to its end and keeps nothing of it; says how many nodes there were. */
async function readAll(feeds: Feeds, filters: readonly Filter[]): Promise<number> {
  let count = 0;
  for await (const { data } of await granted(feeds.nodes.watch(filters, { signal: new AbortController().signal }))) {
    if (data.type !== 'snapshot') continue;
    count += data.nodes.length;
    if (data.page === data.pages) break;
  }
  return count;
}

/** Collects garbage at once. */
function collector(): () => void {
  v8.setFlagsFromString('--expose-gc');
  return vm.runInNewContext('gc') as () => void;
}
