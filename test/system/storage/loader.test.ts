import test from 'ava';
import { v7 } from 'uuid';
import { OPEN_EXECUTIONS_MAX } from '../../../actors/node/state.ts';
import { LOADED_SCRIPT_BYTES_MAX } from '../../../persistence/loader/commands.ts';
import { createLoader } from '../../../persistence/loader/loader.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../../../transport/protocol/ids.ts';
import { COMMAND_TEXT_BYTES_MAX } from '../../../transport/protocol/limits.ts';
import { countAnsweredBytes } from '../../support/database/answered-bytes.ts';
import { LONG_WAITS, openedDatabase } from '../../support/database/opened.ts';
import { recordedStatements } from '../../support/database/statements.ts';
import { openStoredFleet } from './fixture.ts';
import { column } from '../../support/database/columns.ts';
import { AT, AT_MS, roundsOf, storeFleet } from './stored-nodes.ts';

test('a thousand nodes are rebuilt with their open executions and aliases', async (t) => {
  const opened = await openedDatabase(t);
  const { cluster, nodeIds, commandIds, executions } = await storeFleet(opened, 1_000, 2);
  const [first, second] = nodeIds as [NodeId, NodeId];
  await opened.pool.query(
    `insert into alias (id, node_id, cluster_id, name, inserted_at, updated_at) values ($1, $2, $3, 'web', now(), now())`,
    [v7(), first, cluster],
  );
  const sent = executions.find(({ node }) => node === first)!;
  await opened.pool.query(
    `update command_execution set status = 'sent', sent_at = $2, cancel_requested_at = $2 where id = $1`,
    [sent.id, AT],
  );
  const finished = executions.find(({ node }) => node === second)!;
  await opened.pool.query(`update command_execution set status = 'expired', finished_at = $2 where id = $1`, [
    finished.id,
    AT,
  ]);

  const states = (await roundsOf(createLoader(opened.pool), cluster)).flat();

  t.deepEqual(states.map(({ record }) => record.id).toSorted(), nodeIds.toSorted());
  const [one, other] = [first, second].map((id) => states.find(({ record }) => record.id === id)!);
  t.deepEqual(column(one?.aliases, 'name'), ['web']);
  t.deepEqual(
    [...one!.open.values()],
    executions
      .filter(({ node }) => node === first)
      .map(({ id }, index) => ({
        id,
        node: first,
        clusterName: 'fleet',
        status: id === sent.id ? ('sent' as const) : ('pending' as const),
        sentAtMs: id === sent.id ? AT_MS : null,
        cancelRequestedAtMs: id === sent.id ? AT_MS : null,
        insertedAtMs: AT_MS,
        updatedAtMs: AT_MS,
        command: {
          id: commandIds[index]!,
          text: 'uptime',
          targetAll: true,
          timeoutMs: 5_000,
          expiredAtMs: null,
          insertedAtMs: AT_MS,
        },
      })),
  );
  t.is(other?.open.size, 1);
  t.deepEqual([one?.session, one?.backlog, one?.loading], [null, false, false]);
  t.deepEqual(one?.record, {
    id: first,
    cluster,
    clusterName: 'fleet',
    status: 'healthy',
    standing: { sinceMs: AT_MS, reason: null, evidence: null, changesMs: [] },
    version: '1.0.0',
    idType: 'random',
    ports: {
      http_port: 1,
      ssh_port: 2,
      host_metrics_port: 3,
      wireguard_metrics_port: 4,
      http_proxy_port: 5,
      socks5_proxy_port: 6,
    },
    selfUpdateEnabled: false,
    enrollmentKeyId: null,
    facts: null,
    labels: {},
    lastSeenAtMs: null,
    insertedAtMs: AT_MS,
    updatedAtMs: AT_MS,
  });
});

test('a node holds its first open executions, and the rest is a backlog read on from there', async (t) => {
  const opened = await openedDatabase(t);
  const {
    nodeIds: [node],
    executions,
  } = await storeFleet(opened, 1, OPEN_EXECUTIONS_MAX + 3);
  const loader = createLoader(opened.pool);
  const ids = executions.map(({ id }) => id);

  const state = await loader.node(node!);
  const next = await loader.openExecutions(node!, 2, ids.slice(0, OPEN_EXECUTIONS_MAX));
  const rest = await loader.openExecutions(node!, 2, ids.slice(0, OPEN_EXECUTIONS_MAX + 2));

  t.deepEqual([...state!.open.keys()], ids.slice(0, OPEN_EXECUTIONS_MAX));
  t.true(state!.backlog);
  t.deepEqual([next.executions.map(({ id }) => id), next.more], [ids.slice(-3, -1), true]);
  t.deepEqual([rest.executions.map(({ id }) => id), rest.more], [ids.slice(-1), false]);
});

test('nodes that ask at once share statements, and each gets its own, also those that have more than most', async (t) => {
  const opened = await openedDatabase(t);
  const { nodeIds, executions } = await storeFleet(opened, 300, 12);
  const { pool, statements } = recordedStatements(opened.pool);
  const loader = createLoader(pool);
  const ofNode = (node: NodeId) => executions.filter((one) => one.node === node).map(({ id }) => id);
  const [holding, again] = [nodeIds[0]!, nodeIds[1]!];
  const held = ofNode(holding).slice(0, 10);

  const answers = await Promise.all([
    loader.openExecutions(holding, 256, held),
    loader.openExecutions(again, 3, []),
    loader.openExecutions(again, 1, ofNode(again).slice(0, 1)),
    ...nodeIds.map((node) => loader.openExecutions(node, 256, [])),
  ]);

  const seen = answers.map(({ executions: found, more }) => [found.map(({ id }) => id), more]);
  t.deepEqual(seen, [
    [ofNode(holding).slice(10), false],
    [ofNode(again).slice(0, 3), true],
    [ofNode(again).slice(1, 2), true],
    ...nodeIds.map((node) => [ofNode(node), false]),
  ]);
  t.true(statements.length < 40, `${statements.length} statements`);
});

test('a node for which commands wait that name many nodes and have long scripts is read bit by bit, without those names', async (t) => {
  const opened = await openedDatabase(t, LONG_WAITS);
  const { nodeIds, commandIds } = await storeFleet(opened, 1, OPEN_EXECUTIONS_MAX);
  await opened.pool.query(
    `update command set command_text = repeat(right(id::text, 8), $1),
       targeting = jsonb_build_object('type', 'nodes', 'node_ids', (select jsonb_agg($2::uuid) from generate_series(1, $3)))`,
    [COMMAND_TEXT_BYTES_MAX / 8, nodeIds[0], 2_000],
  );
  const answered = countAnsweredBytes(opened.pool);

  const state = await createLoader(opened.pool).node(nodeIds[0]!);

  t.deepEqual(
    Array.from(state!.open.values(), ({ command }) => command.text),
    commandIds.map((id) => id.slice(-8).repeat(COMMAND_TEXT_BYTES_MAX / 8)),
  );
  const { total, most } = answered();
  t.true(total < OPEN_EXECUTIONS_MAX * (COMMAND_TEXT_BYTES_MAX + 1_000), `${total} bytes`);
  t.true(most < LOADED_SCRIPT_BYTES_MAX + OPEN_EXECUTIONS_MAX * 1_000, `${most} bytes`);
});

test('of named executions those are found that are open and of this node', async (t) => {
  const opened = await openedDatabase(t);
  const {
    nodeIds: [node],
    executions,
  } = await storeFleet(opened, 2, 2);
  const mine = executions.filter((execution) => execution.node === node);
  await opened.pool.query(`update command_execution set status = 'dropped', finished_at = now() where id = $1`, [
    mine[0]!.id,
  ]);

  const found = await createLoader(opened.pool).findOpen(node!, [
    ...executions.map(({ id }) => id),
    v7() as ExecutionId,
  ]);

  t.deepEqual(column(found.executions, 'id'), [mine[1]!.id]);
});

test('a command is rebuilt with its counts and open executions, a cluster with its record', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const loader = createLoader(opened.pool);
  const isOpen = ({ status }: { readonly status: string }) => status === 'pending' || status === 'sent';

  for (const command of fixture.commands) {
    const state = await loader.command(command.id as CommandId);
    t.deepEqual(state?.summary, command.summary);
    t.true(state?.isCreated);
    const open = fixture.command_executions.filter(
      (execution) => execution.command_id === command.id && isOpen(execution),
    );
    t.deepEqual(
      [...state!.open].map(([id, { node, status }]): unknown => ({ id, node, status })),
      open.map(({ id, node_id, status }) => ({ id, node: node_id, status })),
    );
  }
  const [cluster] = fixture.clusters;
  const [state] = await loader.clusters([cluster!.id as ClusterId]);
  t.deepEqual(state?.record, {
    id: cluster!.id as ClusterId,
    name: cluster!.name,
    ipv4Range: cluster!.ipv4_range,
    ipv6Range: cluster!.ipv6_range,
    nodeLimit: cluster!.node_limit,
    nodeCount: cluster!.node_count,
    insertedAtMs: Date.parse(cluster!.inserted_at),
    updatedAtMs: Date.parse(cluster!.updated_at),
  });
});

test('executions that many nodes name at once are looked up by a few statements, and each node gets its own (L1)', async (t) => {
  const opened = await openedDatabase(t);
  const { nodeIds, executions } = await storeFleet(opened, 100, 2);
  const { pool, statements } = recordedStatements(opened.pool);
  const loader = createLoader(pool);
  const everything = executions.map(({ id }) => id);

  const found = await Promise.all(
    nodeIds.flatMap((node) => [
      loader.findOpen(node, [...everything, v7() as ExecutionId]),
      loader.findOpen(node, everything.slice(0, 100)),
    ]),
  );

  t.deepEqual(
    found.map(({ executions: all }) => all.map(({ id }) => id)),
    nodeIds.flatMap((node) =>
      [executions, executions.slice(0, 100)].map((among) =>
        among.filter((one) => one.node === node).map(({ id }) => id),
      ),
    ),
  );
  t.true(
    statements.length <= 10,
    `${statements.length} statements for ${found.length} questions of ${everything.length} executions`,
  );
});

test('what has no row is null', async (t) => {
  const { pool } = await openedDatabase(t);
  const loader = createLoader(pool);

  t.is(await loader.node(v7() as NodeId), null);
  t.is(await loader.command(v7() as CommandId), null);
  t.deepEqual(await loader.clusters([v7() as ClusterId]), []);
});
