/** Which node a name means, where machines choose what they are called. */
import test, { type ExecutionContext } from 'ava';
import { createClient } from '../../../cli/service/client.ts';
import { nodesOf } from '../../../cli/transfer/targets.ts';
import { edge, NODE, paged, service, stranger, type Answer } from './foreign-service.ts';

const OTHER = '01a00000-0000-7000-8000-000000000002';
const MACHINE = '01a00000-0000-7000-8000-000000000003';
const idOf = (index: number): string => `${String(index).padStart(8, '0')}-0000-7000-8000-000000000000`;
const SHORT = NODE.slice(0, 8);

const listed = (rows: readonly object[]) => ({ data: rows, pagination: { total_count: rows.length, has_next: false } });

/** A fleet of two nodes, the second of which calls its machine so, with these aliases in the cluster prod. */
async function fleet(
  t: ExecutionContext,
  { machine, aliases = [] }: { readonly machine: string; readonly aliases?: readonly object[] },
) {
  const nodes = [
    { id: NODE, name: 'web-1', facts: { hostname: 'honest' } },
    { id: OTHER, name: machine, facts: { hostname: machine } },
  ];
  const list_nodes: Answer = ({ hostname }) =>
    listed(nodes.filter(({ facts }) => hostname === undefined || facts.hostname === hostname));
  const list_clusters: Answer = ({ name }) =>
    listed(name === 'prod' ? [{ name: 'prod', vpn_domain: 'prod.edge.internal' }] : []);
  const asked = await service(t, {
    list_nodes,
    list_clusters,
    list_aliases: listed(aliases),
    delete_node: null,
    delete_alias: null,
  });
  const remove = async (name: string) => {
    asked.asked.length = 0;
    const { status, stderr } = await edge(stranger(t, asked.url), 'node', 'rm', name);
    return { status, stderr, hasRemoved: asked.asked.some(([operation]) => operation === 'delete_node') };
  };
  return { ...asked, remove };
}

test('a machine that calls itself as the id of another begins is not taken for that one', async (t) => {
  const { remove } = await fleet(t, { machine: SHORT });

  t.deepEqual(await remove(SHORT), {
    status: 2,
    stderr: `edge: one node is called "${SHORT}", and the id of another begins so: give one of ${OTHER}, ${NODE}\n`,
    hasRemoved: false,
  });
  t.true((await remove(OTHER.slice(0, 8))).hasRemoved);
  const aliased = await fleet(t, { machine: 'x', aliases: [{ node_id: OTHER }] });
  t.is((await aliased.remove(SHORT)).status, 2);
  t.true((await aliased.remove('beef')).hasRemoved, 'an alias that is hexadecimal');
});

test('a machine does not take over the host name of an alias that is gone', async (t) => {
  for (const machine of ['web-2.prod', 'web-2.prod.edge.internal', 'web-2.cluster-prod.']) {
    const { remove } = await fleet(t, { machine });
    const { status, hasRemoved } = await remove(machine);
    t.deepEqual([status, hasRemoved], [4, false], machine);
  }
  for (const machine of ['web-2.lan', 'web-2.prod.example.com', 'DB01.corp.example']) {
    const { remove } = await fleet(t, { machine });
    t.true((await remove(machine)).hasRemoved, machine);
  }
});

test('a label cluster-x of a host name is the cluster of that name before it is the cluster x, as for the proxies', async (t) => {
  const aliasIn = (cluster: string, node: string) => ({
    node_id: node,
    name: 'web',
    cluster_name: cluster,
    vpn_hostname: `web.${cluster}.edge.internal`,
  });
  const removedBy = async (name: string, ...aliases: readonly ReturnType<typeof aliasIn>[]) => {
    const { url, asked } = await service(t, {
      list_aliases: ({ cluster_name: cluster }: Readonly<Record<string, unknown>>) =>
        listed(aliases.filter((alias) => alias.cluster_name === cluster)),
      list_nodes: ({ hostname }: Readonly<Record<string, unknown>>) =>
        listed(hostname === 'web.1.example.com' ? [{ id: MACHINE, name: hostname }] : []),
      delete_node: null,
    });
    await edge(stranger(t, url), 'node', 'rm', name);
    return asked.find(([operation]) => operation === 'delete_node')?.[1]['id'];
  };

  for (const domain of ['', '.edge.internal', '.edge.internal.']) {
    const [written, short] = [aliasIn('cluster-1', NODE), aliasIn('1', OTHER)];
    t.is(await removedBy(`web.cluster-1${domain}`, written), NODE);
    t.is(await removedBy(`web.cluster-1${domain}`, written, short), NODE);
    t.is(await removedBy(`web.cluster-1${domain}`, short), OTHER);
    t.is(await removedBy(`web.cluster-cluster-1${domain}`, written, short), NODE);
  }
  t.is(
    await removedBy('web.1.example.com', aliasIn('1', OTHER)),
    MACHINE,
    'it is no name below the domain of the cluster',
  );
});

test('a name with a wildcard removes no node and no alias where one is meant', async (t) => {
  const { url, asked, remove } = await fleet(t, { machine: 'x', aliases: [{ id: OTHER, node_id: OTHER }] });

  for (const name of ['web-*', 'web-*.prod', 'web-1.pr*'])
    t.deepEqual(await remove(name), {
      status: 2,
      stderr: `edge: "${name}" could mean several nodes, and one is wanted here: edge node ls shows all\n`,
      hasRemoved: false,
    });
  const alias = await edge(stranger(t, url), 'alias', 'rm', 'web-*');
  t.is(alias.stderr, 'edge: "web-*" could mean several aliases, and one is taken away at a time\n');
  t.false(asked.some(([operation]) => operation === 'delete_alias'));
});

test('a node that enrols while pages are read leaves a beginning unique, and every other node there once', async (t) => {
  const nodes = [OTHER, ...Array.from({ length: 150 }, (_, index) => idOf(index))].map((id) => ({ id, name: id }));
  const { url, asked } = await service(t, {
    list_nodes: (input: Readonly<Record<string, unknown>>) =>
      input['hostname'] === undefined ? paged((page) => (page === 1 ? nodes.slice(1) : nodes))(input) : listed([]),
    list_commands: paged((page) => (page === 1 ? nodes.slice(1) : nodes)),
    delete_node: null,
    get_command: ({ id }: Readonly<Record<string, unknown>>) => ({ id }),
  });
  const env = stranger(t, url);
  const seam = idOf(99);

  t.is((await edge(env, 'node', 'rm', seam.slice(0, 8))).status, 0);
  t.deepEqual(asked.at(-1), ['delete_node', { id: seam }]);
  t.is((await edge(env, '-o', 'id', 'command', 'get', seam.slice(0, 8))).status, 0);
  t.deepEqual(asked.at(-1), ['get_command', { id: seam }]);
  const meant = await nodesOf(createClient({ url, key: null }), { type: 'all' });
  t.deepEqual(
    meant.map(({ id }) => id),
    nodes.slice(1).map(({ id }) => id),
  );
});

test('nodes stand in the order of their names in every format', async (t) => {
  const { url } = await service(t, {
    list_nodes: listed([
      { id: NODE, name: 'web-10' },
      { id: OTHER, name: 'web-9' },
    ]),
  });
  const env = stranger(t, url);

  t.is((await edge(env, 'node', 'ls', '-q')).stdout, `${OTHER}\n${NODE}\n`);
  t.deepEqual(
    (JSON.parse((await edge(env, 'node', 'ls', '-o', 'json')).stdout) as { name: string }[]).map(({ name }) => name),
    ['web-9', 'web-10'],
  );
});

test('a machine is not called by the alias of another', async (t) => {
  const executions = listed([{ id: NODE, node_id: OTHER, output: 'x', output_withheld: false }]);
  const output = async (name: string, aliases: readonly object[], more: object = {}) => {
    const { url } = await service(t, {
      list_command_executions: executions,
      list_nodes: listed([{ id: OTHER, name, aliases }]),
      list_aliases: { ...listed([{ name: 'web-1', node_id: NODE }]), ...more },
    });
    return (await edge(stranger(t, url), 'command', 'output', NODE)).stdout;
  };

  t.is(await output('web-1', []), `${OTHER.slice(0, 13)}: x\n`);
  t.is(await output('Web-1', []), `${OTHER.slice(0, 13)}: x\n`);
  t.is(await output('web-1', [{ name: 'web-1' }]), 'web-1: x\n');
  t.is(await output('db', []), 'db: x\n');
  const many = { pagination: { total_count: 2_000, has_next: false } };
  t.is(await output('db', [], many), `${OTHER.slice(0, 13)}: x\n`, 'who knows what the others are called');
});
