import test from 'ava';
import type { Redis } from 'ioredis';
import { byItself, inCluster, watchStanding } from '../../../../../transport/events/brokers/redis-standing.ts';
import { until } from '../../../../support/until.ts';

/** A node of a cluster that says this of it, or that this user may not ask; and how often it was asked. */
function node(says: string | null) {
  const said = { count: 0 };
  const cluster = async (): Promise<string> => {
    said.count += 1;
    if (says === null) throw new Error("NOPERM User edge has no permissions to run the 'cluster|info' command");
    return says;
  };
  return { client: { cluster } as unknown as Redis, said };
}

test('a node is asked again and again while its answer may change something, and once where it can not', async (t) => {
  const [broken, silent] = [node('cluster_state:fail'), node(null)];
  const [down, whole] = [node('cluster_state:fail'), node('cluster_state:ok')];
  const told: string[] = [];

  for (const { client } of [broken, silent, down, whole])
    t.teardown(watchStanding(client, inCluster(client !== broken.client), 1, (problem) => told.push(problem)));
  await until('the whole one to be asked', () => whole.said.count > 5);

  t.deepEqual([broken.said.count, silent.said.count, down.said.count], [1, 1, 1]);
  t.deepEqual(told, ['its cluster is down']);
});

/** A server that answers ROLE with this refusal. */
function refusing(words: string): Redis {
  const refusal = Object.assign(new Error(words), { name: 'ReplyError' });
  return { role: () => Promise.reject(refusal) } as unknown as Redis;
}

test('a server that does not tell what it is, in whatever words, is used and not asked again; one that loads is not', async (t) => {
  const standing = byItself('a:6379', new Set(), false);
  const refusals = ["ERR Command is not available: 'ROLE'", "unsupported command 'role'", 'NOPERM no permissions'];

  for (const words of refusals)
    t.deepEqual(await standing(refusing(words)), { problem: null, isWatched: false }, words);
  await t.throwsAsync(async () => standing(refusing('LOADING Redis is loading the dataset in memory')), {
    message: /^LOADING/u,
  });
});
