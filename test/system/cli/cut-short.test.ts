/** Large fleets: what is not all of it is said to be a part, and what would be only a part is refused. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { openEdge } from '../../support/edge-terminal.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { edge, NODE, notFound, paged, service, stranger } from './foreign-service.ts';

/** The first page of so many rows, and no further one. */
const many = (count: number, row: object) => ({ data: [row], pagination: { total_count: count, has_next: false } });

const NONE = { data: [], pagination: { total_count: 0, has_next: false } };

const nodeId = (index: number): string => `01a00000-0000-7000-8000-${String(index).padStart(12, '0')}`;

const node = { id: NODE, name: 'web-1', cluster_name: 'prod', status: 'unreachable' };

test('a glance at more commands than are looked at says so', async (t) => {
  const { url } = await service(t, {
    check_admin_health: { healthy: true, checks: [] },
    get_my_admin_cluster: { total_admins: 1, degraded: false },
    list_commands: many(1_500, { summary: { pending: 1, sent: 0, failed: 2 } }),
  });
  const { status, stdout, stderr } = await edge(stranger(t, url), 'status');

  t.is(status, 0, stderr);
  t.regex(stdout, /^Commands {2}1500 in the last hour, 1 of the newest 1 open, 1 with failures$/mu);
});

test('loads of some nodes are said to be of some', async (t) => {
  const { url } = await service(t, { list_nodes: many(60, node) });
  const { status, stderr } = await edge(stranger(t, url), 'top');

  t.deepEqual([status, stderr], [0, 'edge: 1 of 60 nodes, the newest: --limit N asks more\n']);
});

test('a pattern that means more than one command may name is refused', async (t) => {
  const { url, asked } = await service(t, {
    list_aliases: many(30_000, { node_id: NODE }),
    list_clusters: many(20_000, { name: 'prod' }),
  });
  const env = stranger(t, url);

  t.is(
    (await edge(env, 'run', '-n', 'web-*', '--', 'true')).stderr,
    'edge: "web-*" matches 30000 nodes, and at most 27000 can be named: say it by labels, clusters or --all\n',
  );
  t.is(
    (await edge(env, 'run', '-c', 'p*', '--', 'true')).stderr,
    'edge: "p*" matches 20000 clusters, and at most 10000 can be named: say it by labels or --all\n',
  );
  t.false(asked.some(([operation]) => operation === 'create_command'));
});

test('files for more machines than can be named go nowhere, and few of many are asked for by their labels', async (t) => {
  const { url, asked } = await service(t, {
    list_nodes: ({ labels }: Readonly<Record<string, unknown>>) => (labels === undefined ? many(30_000, node) : NONE),
  });
  const env = stranger(t, url);
  const file = join(temporaryDirectory(t), 'file');
  writeFileSync(file, 'x');

  for (const command of [
    ['push', file, '--to', '/etc/'],
    ['pull', temporaryDirectory(t), '--from', '/etc/x'],
  ])
    t.deepEqual(await edge(env, ...command, '--all'), {
      status: 2,
      stdout: '',
      stderr:
        'edge: 30000 nodes match, and at most 27000 can be copied to or from at once: say it by labels or clusters\n',
    });
  t.is((await edge(env, 'push', file, '-l', 'env=prod:/etc/')).status, 4);
  t.like(asked.at(-1)?.[1], { labels: 'env=prod' });
});

test('a lost key is taken from all who have it, also where one is gone meanwhile and another one gets it', async (t) => {
  const fingerprint = 'SHA256:abc';
  const left = new Set(Array.from({ length: 120 }, (_, index) => nodeId(index)));
  const late = nodeId(500);
  const removed: unknown[] = [];
  const { url } = await service(t, {
    list_ssh_public_keys: (input: Readonly<Record<string, unknown>>) => paged([...left].map((id) => ({ id })))(input),
    delete_ssh_public_key: ({ id }: Readonly<Record<string, unknown>>) => {
      removed.push(id);
      if (removed.length === 1) left.add(late);
      left.delete(String(id));
      if (removed.length === 2) throw notFound();
      return null;
    },
  });
  const { status, stderr } = await edge(stranger(t, url), 'sshkey', 'rm', fingerprint, '--everywhere');

  t.deepEqual([status, stderr], [0, '']);
  t.deepEqual([left.size, removed.length, removed.includes(late)], [0, 121, true]);
});

test('a group of more nodes than fit into a URL is saved, and its nodes are counted', async (t) => {
  const names = Array.from({ length: 1_500 }, (_, index) => ({ node_id: nodeId(index) }));
  const { url, asked } = await service(t, {
    list_aliases: paged(names),
    create_group: { name: 'web', targeting: { type: 'all' } },
    preview_targeting: { node_count: 1_500, nodes: [] },
  });
  const { status, stderr } = await edge(stranger(t, url), 'group', 'create', 'web', '-n', 'web-*');

  t.deepEqual([status, stderr], [0, 'edge: 1500 nodes are in it now\n']);
  t.deepEqual(asked.at(-1), ['preview_targeting', { targeting: { type: 'group', group: 'web' } }]);
});

test('a node that is not among those that are looked through is not said to be gone', async (t) => {
  const list_nodes = ({ hostname }: Readonly<Record<string, unknown>>) =>
    hostname === undefined ? many(6_000, node) : NONE;
  const { url } = await service(t, { list_nodes });
  const { status, stderr } = await edge(stranger(t, url), 'wait', 'ffff0001', '--for', 'gone', '--timeout', '1s');

  t.deepEqual(
    [status, stderr],
    [4, 'edge: no node among the newest 5000 begins with "ffff0001": give the whole id, an alias or a host name\n'],
  );
});

test('a node that was seen by the beginning of its id is gone once it is deleted, also from a large fleet', async (t) => {
  let looks = 0;
  const { url } = await service(t, {
    list_nodes: ({ hostname }: Readonly<Record<string, unknown>>) => {
      if (hostname !== undefined) return NONE;
      looks += 1;
      return many(6_000, looks === 1 ? node : { ...node, id: nodeId(1) });
    },
    get_node: () => {
      if (looks > 1) throw notFound();
      return { ...node, status_since: new Date().toISOString(), status_reason: null };
    },
  });
  const { status, stderr } = await edge(stranger(t, url), 'wait', NODE.slice(0, 13), '--for', 'gone');

  t.deepEqual([status, stderr], [0, '']);
});

test('what was not found among the newest is not said to be nowhere', async (t) => {
  const { url } = await service(t, { list_commands: many(6_000, { id: NODE }) });
  const { status, stderr } = await edge(stranger(t, url), 'command', 'get', 'beef');

  t.deepEqual([status, stderr], [4, 'edge: no command among the newest 5000 begins with "beef": give the whole id\n']);
});

test('a list that is drawn again is sorted where all of it is', async (t) => {
  const { url, asked } = await service(t, { list_clusters: many(5_000, { name: 'prod', node_count: 1 }) });
  const terminal = openEdge(t, ['cluster', 'ls', '--watch', '--sort', '-nodes', '--limit', '5'], stranger(t, url));
  await terminal.shows(/prod +1 /u);
  terminal.type('\u0003');

  t.is(await terminal.ended, 0);
  t.deepEqual(asked[0], ['list_clusters', { page: 1, page_size: 5, sort: '-node_count' }]);
});
