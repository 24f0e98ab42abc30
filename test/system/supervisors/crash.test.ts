/** What a bug in one actor costs: its message, and nothing else. Every kind of actor, every message. */
import test from 'ava';
import { v7 } from 'uuid';
import type { ActorKind, Addressed, Message } from '../../../actors/messages.ts';
import { refuse } from '../../../actors/refusal.ts';
import type { Kind, KindTable } from '../../../supervisors/runtime/kinds.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId, SessionId } from '../../../transport/protocol/ids.ts';
import { HEALTHY, PORTS, REGISTRATION, result, session } from '../../support/actors.ts';
import { until } from '../../support/until.ts';
import { startSupervisors, type SupervisorsFixture } from './fixture.ts';

/** What each test speaks of. */
interface Scene {
  readonly cluster: ClusterId;
  readonly node: NodeId;
  readonly key: string;
  readonly command: CommandId;
  readonly execution: ExecutionId;
  readonly webhook: string;
  /** A delivery that is finished. */
  readonly delivery: string;
}

type Messages<K extends ActorKind> = Extract<Addressed, { to: { kind: K } }>['message'];
/** One message of every type; the compiler misses none. `asker` is filled in where there is one. */
type Cases<K extends ActorKind> = {
  readonly [T in Messages<K>['type']]: (scene: Scene) => Omit<Extract<Messages<K>, { type: T }>, 'replyTo' | 'type'>;
};

const REFUSED = { write: { kind: 'nothing' }, refusal: refuse('conflict', 'no').refusal } as const;
const credentials = { apiToken: 't', tokenHash: Buffer.alloc(32, 1), proxyPassword: 'p', sealedProxyPassword: 's' };
const record = (id: CommandId) => ({
  id,
  text: 'true',
  targeting: { type: 'all' as const },
  timeoutMs: null,
  expiredAtMs: null,
  insertedAtMs: 0,
});

const NODE: Cases<'node'> = {
  'agent-connected': () => ({
    session: session(9),
    hello: { registration: REGISTRATION, report: HEALTHY, holding: [] },
  }),
  'agent-disconnected': () => ({ session: session(1), lastHeardMs: 0, isOurs: false }),
  'executions-asked': ({ execution }) => ({ session: session(1), ask: 1, executions: [execution] }),
  'executions-acknowledged': ({ execution }) => ({ session: session(1), executions: [execution] }),
  'output-part-arrived': ({ execution }) => ({ session: session(1), execution, part: 0, text: 'x' }),
  'results-arrived': ({ execution }) => ({ session: session(1), results: [result(1, { execution })] }),
  'agent-reported': () => ({ session: session(1), report: HEALTHY }),
  'report-late': () => ({ session: session(1) }),
  'silence-elapsed': () => ({ dueMs: 0 }),
  'status-lasted': () => ({}),
  'ssh-attempted': () => ({
    session: session(1),
    attempt: 1,
    username: 'operator',
    credential: { method: 'password', password: 'wrong' },
  }),
  'ssh-verified': () => ({ session: session(1), attempt: 1, outcome: null }),
  'ssh-unanswered-reported': () => ({
    session: session(1),
    logins: [{ id: v7(), username: 'operator', method: 'password', ms_ago: 1 }],
  }),
  'ssh-grants-reported': () => ({ session: session(1), grants: [{ ssh_username_id: v7(), ssh_public_key_id: null }] }),
  'ssh-grants-checked': () => ({ session: session(1), sshUsernames: [v7()], sshPublicKeys: [] }),
  'mesh-advertised': () => ({
    session: session(1),
    advertisement: {
      public_key: 'zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMw=',
      listen_port: 51_820,
      endpoints: [],
      relay_region: null,
      revision: null,
    },
    from: null,
  }),
  'mesh-observed': () => ({ publicKey: 'x', endpoint: '203.0.113.7:51820', isStable: null }),
  'direct-wanted': () => ({ session: session(1), publicKey: 'x' }),
  'mesh-reported': () => ({ session: session(1), report: { direct: 0, relayed: 0, none: 0, gateway: null } }),
  'mesh-told': () => ({ body: { type: 'mesh-refused', reason: 'x' } }),
  run: () => ({ executions: [] }),
  rescan: () => ({}),
  'executions-loaded': () => ({ executions: [], more: false }),
  'executions-looked-up': () => ({ asked: [], executions: [], retry: { type: 'rescan' } }),
  'delivery-withheld': () => ({ session: session(1), executions: [] }),
  'executions-expired': () => ({ executions: [] }),
  cancel: ({ execution }) => ({ executions: [execution] }),
  'create-alias': () => ({ id: v7(), name: 'other', idempotency: null }),
  'delete-alias': () => ({ id: v7() }),
  'create-ssh-username': () => ({
    username: { id: v7(), username: 'operator', passwordHash: null, keys: [] },
    idempotency: null,
  }),
  'delete-ssh-username': () => ({ id: v7() }),
  'create-ssh-public-key': () => ({
    sshUsername: v7(),
    key: { id: v7(), keyName: 'k', line: 'ssh-ed25519 A', fingerprint: 'SHA256:A' },
    idempotency: null,
  }),
  'delete-ssh-public-key': () => ({ id: v7() }),
  'set-recovery-key': () => ({ keyHash: Buffer.alloc(32), key: 'k', idempotency: null }),
  'clear-recovery-key': () => ({}),
  'change-cluster': ({ cluster }) => ({ to: cluster, toName: 'c' }),
  delete: () => ({}),
  revoked: () => ({ reason: 'x' }),
  forget: () => ({}),
  refused: () => REFUSED,
};

const CLUSTER: Cases<'cluster'> = {
  create: ({ cluster }) => ({
    id: cluster,
    name: 'x',
    ipv4Range: '10.0.0.0/24',
    ipv6Range: 'fd00::/64',
    nodeLimit: null,
    idempotency: null,
  }),
  limit: () => ({ nodeLimit: 9 }),
  delete: () => ({}),
  'create-key': () => ({
    id: v7(),
    name: null,
    key: 'k',
    nonceHash: Buffer.alloc(32),
    sealedKey: 's',
    expiredAtMs: null,
    usesRemaining: 1,
    idempotency: null,
  }),
  'update-key': ({ key, cluster }) => ({
    key: {
      id: key,
      cluster,
      clusterName: 'c',
      name: null,
      expiredAtMs: null,
      usesRemaining: 1,
      lastUsedAtMs: null,
      insertedAtMs: 0,
      updatedAtMs: 0,
    },
    blob: 'b',
    name: 'n',
  }),
  'delete-key': ({ key }) => ({ id: key }),
  enroll: ({ key, cluster }) => ({
    request: {
      enrollment_key: 'k',
      node_id: v7() as NodeId,
      id_type: 'random',
      version: '1',
      ports: PORTS,
      self_update_enabled: false,
    },
    key: {
      id: key,
      cluster,
      clusterName: 'c',
      name: null,
      expiredAtMs: null,
      usesRemaining: 1,
      lastUsedAtMs: null,
      insertedAtMs: 0,
      updatedAtMs: 0,
    },
    existing: null,
    recoveryKeyHash: null,
    machineSecretHash: null,
    credentials,
    aliasIds: [],
  }),
  'count-changed': () => ({ by: 0 }),
  'mesh-read': ({ cluster }) => ({ epoch: 1, number: 1, reading: { cluster, members: [], gateway: null } }),
  'mesh-wanted': ({ node }) => ({ node, revision: null }),
  'direct-wanted': ({ node }) => ({ node, publicKey: 'x' }),
  refused: () => REFUSED,
};

const COMMAND: Cases<'command'> = {
  create: ({ command }) => ({ command: record(command), targets: [], executionIds: [], idempotency: null }),
  'executions-changed': () => ({ changes: [] }),
  cancel: () => ({}),
  delete: () => ({}),
  refused: () => REFUSED,
};

const attempt = { type: 'answered', atMs: 0, durationMs: 1, statusCode: 204, retryAfterMs: null, answer: '' } as const;

const WEBHOOK: Cases<'webhook'> = {
  create: ({ webhook }) => ({
    id: webhook,
    url: 'https://x.test/',
    subscribedEvents: ['edge.core.test'],
    sealedSecret: 's',
    sealedHeaders: 'h',
    idempotency: null,
  }),
  delete: () => ({}),
  redeliver: ({ delivery }) => ({
    delivery: { id: delivery, cursor: '1-1', eventId: v7(), subject: v7(), attempts: 1, attemptsMax: 3, dueAtMs: null },
  }),
  'deliveries-stored': () => ({}),
  'deliveries-loaded': () => ({ load: 0, deliveries: [], more: false }),
  'delivery-attempted': ({ delivery }) => ({ delivery, attempt, random: 0 }),
  'delivery-due': ({ delivery }) => ({ delivery }),
  refused: () => REFUSED,
};

const ASKED = new Set([
  'redeliver',
  'cancel',
  'create-alias',
  'delete-alias',
  'set-recovery-key',
  'clear-recovery-key',
  'change-cluster',
  'delete',
  'create',
  'limit',
  'create-key',
  'update-key',
  'delete-key',
  'enroll',
]);

/** A fault in every behaviour: while armed, a message of its kind and type throws, once. */
function faulty() {
  const fault: { armed: { kind: ActorKind; type: string } | null; crashes: number } = { armed: null, crashes: 0 };
  function wrap<S, M extends { readonly type: string }>(kind: ActorKind, real: Kind<S, M>): Kind<S, M> {
    return {
      ...real,
      behaviour: {
        ...real.behaviour,
        transition(state, message, nowMs) {
          if (fault.armed?.kind !== kind || fault.armed.type !== message.type)
            return real.behaviour.transition(state, message, nowMs);
          fault.armed = null;
          fault.crashes += 1;
          throw new Error('a bug');
        },
      },
    };
  }
  const kinds = (table: KindTable): KindTable => ({
    node: wrap('node', table.node),
    cluster: wrap('cluster', table.cluster),
    command: wrap('command', table.command),
    webhook: wrap('webhook', table.webhook),
  });
  return { fault, kinds };
}

/** What is stored, as a crash must leave it. */
async function stored(fixture: SupervisorsFixture, { cluster, node, command, webhook }: Scene) {
  const [rows] = await fixture.rows(
    `select (select node_count from cluster where id = $1) as nodes, (select json_agg(a.name) from alias a where node_id = $2) as aliases,
      (select json_agg(json_build_object('id', id, 'status', status)) from command_execution where command_id = $3) as executions,
      (select url from webhook where id = $4) as webhook, (select json_agg(json_build_object('id', id, 'status', status, 'attempts', attempt_count)) from webhook_delivery where webhook_id = $4) as deliveries`,
    [cluster, node, command, webhook],
  );
  return rows;
}

async function scene(fixture: SupervisorsFixture, number: number): Promise<Scene> {
  const cluster = await fixture.createCluster();
  const key = await fixture.createKey(cluster, null);
  const node = v7() as NodeId;
  await fixture.enroll(cluster, key, node);
  fixture.connect(node, number);
  const alias = await fixture.tree.ask((replyTo) => ({
    to: { kind: 'node', id: node },
    message: { type: 'create-alias', replyTo, id: v7(), name: 'kept', idempotency: null },
  }));
  if (!alias.ok) throw new Error(alias.refusal.message);
  const { command, executions } = await fixture.run([{ node, cluster }]);
  const webhook = await fixture.createWebhook();
  const delivery = await fixture.storeDelivery(webhook, { status: 'delivered', attempts: 1 });
  return { cluster, key, node, command, execution: executions[0] as ExecutionId, webhook, delivery };
}

/** Asks that change nothing, by which an actor shows that it lives. */
const SIGN_OF_LIFE: { readonly [K in ActorKind]: (scene: Scene, replyTo: never) => Addressed } = {
  node: ({ node }, replyTo) => ({
    to: { kind: 'node', id: node },
    message: { type: 'delete-alias', replyTo, id: v7() },
  }),
  cluster: ({ cluster }, replyTo) => ({
    to: { kind: 'cluster', id: cluster },
    message: { type: 'delete-key', replyTo, id: v7() },
  }),
  command: ({ command }, replyTo) => ({ to: { kind: 'command', id: command }, message: { type: 'delete', replyTo } }),
  webhook: (scene, replyTo) => ({
    to: { kind: 'webhook', id: scene.webhook },
    message: { type: 'create', replyTo, ...WEBHOOK.create(scene) },
  }),
};
const LIVES: { readonly [K in ActorKind]: string } = {
  node: 'not_found',
  cluster: 'not_found',
  command: 'conflict',
  webhook: 'conflict',
};

for (const [kind, cases] of Object.entries({ node: NODE, cluster: CLUSTER, command: COMMAND, webhook: WEBHOOK }) as [
  ActorKind,
  Record<string, (scene: Scene) => object>,
][]) {
  test(`a ${kind} that crashes at any message is restored: the message is lost once, what waited behind it is not, and nothing stored is`, async (t) => {
    const { fault, kinds } = faulty();
    const fixture = await startSupervisors(t, { kinds });
    let number = 0;
    for (const [type, message] of Object.entries(cases)) {
      number += 1;
      const scenery = await scene(fixture, number);
      const id = scenery[kind];
      const before = await stored(fixture, scenery);
      const crashesBefore = fault.crashes;
      fault.armed = { kind, type };
      const tell = (replyTo?: unknown) =>
        ({
          to: { kind, id },
          message: { type, ...(ASKED.has(type) && { replyTo: replyTo ?? null }), ...message(scenery) },
        }) as unknown as Addressed;

      const poison = ASKED.has(type)
        ? fixture.tree.ask((replyTo) => tell(replyTo))
        : (fixture.tree.directory.tell(tell()), null);
      const behind = fixture.tree.ask((replyTo) => SIGN_OF_LIFE[kind](scenery, replyTo as never));

      const answered = await behind;
      t.is(answered.ok ? 'ok' : answered.refusal.code, LIVES[kind], `${type}: the next message is answered`);
      if (poison !== null) {
        const refused = await poison;
        t.is(refused.ok ? 'ok' : refused.refusal.code, 'internal_error', `${type}: who asked is told`);
      }
      t.is(fault.crashes - crashesBefore, 1, `${type}: it crashed once`);
      t.deepEqual(await stored(fixture, scenery), before, `${type}: the rows are as before`);
    }
    t.is(fixture.tree.directory.counters.crashes, Object.keys(cases).length);
    t.is(fixture.tree.directory.counters.escalations, 0);
    t.is(fixture.tree.waiting(), 0);
    const crashes = fixture.log.lines.filter((line) => line.message === 'an actor crashed');
    t.deepEqual(
      [...new Set(crashes.flatMap((line) => Object.keys(line.fields)))].sort(),
      ['error', 'escalated', 'kind', kind, 'message_type', 'restart_in_ms'].sort(),
    );
  });
}

test('after a crash of its node, an execution is delivered again to the agent that comes back, and ends', async (t) => {
  const { fault, kinds } = faulty();
  const fixture = await startSupervisors(t, { kinds });
  const { node, execution } = await scene(fixture, 1);
  await until('it is delivered', () => fixture.sessions.frames.some(({ frame }) => frame.type === 'deliver'));
  fault.armed = { kind: 'node', type: 'agent-reported' };

  fixture.tree.directory.tell({
    to: { kind: 'node', id: node },
    message: { type: 'agent-reported', session: 1 as SessionId, report: HEALTHY },
  });
  await until('its session is hung up', () => fixture.sessions.hungUp.some((one) => one.node === node));
  fixture.connect(node, 2);
  await until('it is delivered again', () =>
    fixture.sessions.frames.some(({ session: to, frame }) => to === session(2) && frame.type === 'deliver'),
  );
  tellNode(fixture, node, { type: 'results-arrived', session: session(2), results: [result(1, { execution })] });
  await until('it is confirmed', () => fixture.sessions.frames.some(({ frame }) => frame.type === 'confirm'));

  t.deepEqual(await fixture.eventsOf(execution), [
    'edge.command_execution.created',
    'edge.command_execution.sent',
    'edge.command_execution.completed',
  ]);
});

test('a crash of one actor leaves its neighbours alone', async (t) => {
  const { fault, kinds } = faulty();
  const fixture = await startSupervisors(t, { kinds });
  const { nodes } = await fixture.plant(3);
  for (const [index, node] of nodes.entries()) fixture.connect(node, index + 1);
  await until(
    'all are welcome',
    () => fixture.sessions.frames.filter(({ frame }) => frame.type === 'welcome').length === 3,
  );
  fault.armed = { kind: 'node', type: 'rescan' };

  tellNode(fixture, nodes[1] as NodeId, { type: 'rescan' });
  await until('it crashed', () => fixture.tree.directory.counters.crashes === 1);

  t.deepEqual(
    fixture.sessions.hungUp.map((one) => one.node),
    [nodes[1]],
  );
});

function tellNode(
  fixture: SupervisorsFixture,
  id: NodeId,
  message: Extract<Message, { session: SessionId }> | { type: 'rescan' },
): void {
  fixture.tree.directory.tell({ to: { kind: 'node', id }, message });
}
