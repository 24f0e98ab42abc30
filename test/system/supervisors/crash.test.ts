/** What a bug in one actor costs: its message, and nothing else. Every kind of actor, every message. */
import test from 'ava';
import { v7 } from 'uuid';
import { actorFields, type ActorKind, type Address } from '../../../actors/messages.ts';
import type { ExecutionId, NodeId } from '../../../transport/protocol/ids.ts';
import { makeKeyPair } from '../../../transport/vpn/wireguard/keys.ts';
import { HEALTHY, session } from '../../support/actors.ts';
import { selfUpdateRecord } from '../../support/self-updates.ts';
import { until } from '../../support/until.ts';
import { codeOf, type SupervisorsFixture } from './actors-fixture.ts';
import { ASKED, EVERY_MESSAGE, type Subject } from './every-message.ts';
import { withBugs } from './faults.ts';
import { startOwner } from './fixture.ts';
import { column } from '../../support/database/columns.ts';

/** A bug at one type of message of one kind of actor: while armed, it throws, once. */
function oneBug() {
  const bug: { armed: { kind: ActorKind; type: string } | null; crashes: number } = { armed: null, crashes: 0 };
  const kinds = withBugs((kind, type) => {
    if (bug.armed?.kind !== kind || bug.armed.type !== type) return false;
    bug.armed = null;
    bug.crashes += 1;
    return true;
  });
  return { bug, kinds };
}

/** What is stored, as a crash must leave it. */
async function stored(fixture: SupervisorsFixture, { cluster, node, command, webhook }: Subject) {
  const [rows] = await fixture.rows(
    `select (select node_count from cluster where id = $1) as nodes, (select json_agg(a.name) from alias a where node_id = $2) as aliases,
      (select json_agg(json_build_object('id', id, 'status', status)) from command_execution where command_id = $3) as executions,
      (select url from webhook where id = $4) as webhook, (select json_agg(json_build_object('id', id, 'status', status, 'attempts', attempt_count)) from webhook_delivery where webhook_id = $4) as deliveries`,
    [cluster, node, command, webhook],
  );
  return rows;
}

/** A connected node with an alias and an execution, and a webhook with a delivery that is finished. */
async function createSubject(fixture: SupervisorsFixture, number: number): Promise<Subject> {
  const cluster = await fixture.createCluster();
  const key = await fixture.createKey(cluster);
  const node = await fixture.enroll(cluster, key);
  fixture.connect(node, number);
  await fixture.must('node', node, { type: 'create-alias', id: v7(), name: 'kept', idempotency: null });
  const { command, executions } = await fixture.run([{ node, cluster }]);
  const webhook = await fixture.createWebhook();
  const delivery = await fixture.storeDelivery(webhook, { status: 'delivered', attempts: 1 });
  const request = selfUpdateRecord({ id: v7() });
  const targets = [{ node, clusterName: 'demo' }];
  await fixture.must('self-update', request.id, { type: 'create', request, targets, idempotency: null });
  const ids = { 'self-update': request.id, execution: executions[0] as ExecutionId };
  return { cluster, key, node, command, webhook, delivery, ...ids };
}

/** What an actor answers that lives, to a question that changes nothing. */
const SIGNS_OF_LIFE: {
  readonly [K in ActorKind]: readonly [(fixture: SupervisorsFixture, subject: Subject) => Promise<string>, string];
} = {
  node: [
    (fixture, { node }) => fixture.ask('node', node, { type: 'delete-alias', id: v7() }).then(codeOf),
    'not_found',
  ],
  cluster: [
    (fixture, { cluster }) => fixture.ask('cluster', cluster, { type: 'delete-key', id: v7() }).then(codeOf),
    'not_found',
  ],
  command: [(fixture, { command }) => fixture.ask('command', command, { type: 'delete' }).then(codeOf), 'conflict'],
  webhook: [(fixture, subject) => ask(fixture, 'webhook', 'create', subject).then(codeOf), 'conflict'],
  'self-update': [
    async (fixture, subject) => {
      fixture.tell('self-update', subject['self-update'], { type: 'nodes-changed' }); // it is not here when nobody moves it
      return codeOf(await ask(fixture, 'self-update', 'create', subject));
    },
    'conflict',
  ],
};

const ask = (fixture: SupervisorsFixture, kind: ActorKind, type: string, subject: Subject) =>
  fixture.ask(kind, subject[kind], { type, ...EVERY_MESSAGE[kind][type]?.(subject) } as never);

for (const [kind, cases] of Object.entries(EVERY_MESSAGE) as [ActorKind, (typeof EVERY_MESSAGE)[ActorKind]][]) {
  test(`a ${kind} that crashes at any message is restored: only that message is lost, and nothing that was stored`, async (t) => {
    const { bug, kinds } = oneBug();
    const fixture = await startOwner(t, { kinds });
    for (const [index, [type, message]] of Object.entries(cases).entries()) {
      const subject = await createSubject(fixture, index + 1);
      const before = await stored(fixture, subject);
      const crashesBefore = bug.crashes;
      bug.armed = { kind, type };

      const poison = ASKED.has(type) ? ask(fixture, kind, type, subject) : null;
      if (poison === null) fixture.tell(kind, subject[kind], { type, ...message(subject) } as never);
      const [signOfLife, lives] = SIGNS_OF_LIFE[kind];
      const behind = await signOfLife(fixture, subject);

      t.is(behind, lives, `${type}: the next message is answered`);
      if (poison !== null) t.is(codeOf(await poison), 'internal_error', `${type}: who asked is told`);
      t.is(bug.crashes - crashesBefore, 1, `${type}: it crashed once`);
      t.deepEqual(await stored(fixture, subject), before, `${type}: the rows are as before`);
    }
    t.is(fixture.tree.directory.counters.crashes, Object.keys(cases).length);
    t.is(fixture.tree.directory.counters.escalations, 0);
    t.is(fixture.tree.waiting(), 0);
    const crashes = fixture.log.lines.filter((line) => line.message === 'an actor crashed');
    t.deepEqual(
      [...new Set(crashes.flatMap((line) => Object.keys(line.fields)))].sort(),
      [
        'error',
        'escalated',
        'message_type',
        'restart_in_ms',
        ...Object.keys(actorFields({ kind, id: '' } as Address)),
      ].sort(),
    );
  });
}

test('after a crash of its node, an execution is delivered again to the agent that comes back, and ends', async (t) => {
  const { bug, kinds } = oneBug();
  const fixture = await startOwner(t, { kinds });
  const { node, execution } = await createSubject(fixture, 1);
  await fixture.sent('deliver');
  bug.armed = { kind: 'node', type: 'agent-reported' };

  fixture.tell('node', node, { type: 'agent-reported', session: session(1), report: HEALTHY });
  await until('its session is hung up', () => fixture.sessions.hungUp.some((one) => one.node === node));
  fixture.connect(node, 2);
  await fixture.sent('deliver', 2);
  fixture.finish(node, 2, execution);
  await fixture.sent('confirm');

  t.deepEqual(
    await fixture.eventsOf(execution),
    ['created', 'sent', 'completed'].map((what) => `edge.command_execution.${what}`),
  );
});

test('after a crash of its cluster, members that are connected hear when the VPN changes', async (t) => {
  const { bug, kinds } = oneBug();
  const fixture = await startOwner(t, { kinds });
  const cluster = await fixture.createCluster();
  const key = await fixture.createKey(cluster);
  const join = async (number: number): Promise<NodeId> => {
    const node = await fixture.enroll(cluster, key);
    fixture.connect(node, number);
    const publicKey = makeKeyPair().publicKey;
    const place = { public_key: publicKey, listen_port: 51_820, endpoints: [], relay_region: null, revision: null };
    fixture.tell('node', node, { type: 'vpn-advertised', session: session(number), advertisement: place, from: null });
    await fixture.sent('mesh-network', number);
    return node;
  };
  await join(1);
  await join(2);
  bug.armed = { kind: 'cluster', type: 'delete-key' };
  t.is(codeOf(await fixture.ask('cluster', cluster, { type: 'delete-key', id: v7() })), 'internal_error');
  const before = fixture.sessions.frames.length;

  await join(3);

  for (const number of [1, 2])
    await until('a frame that this member cannot follow', () =>
      fixture.sessions.frames
        .slice(before)
        .some(({ frame, session: to }) => frame.type === 'mesh-changed' && to === session(number)),
    );
  t.is(fixture.tree.directory.counters.crashes, 1);
});

test('a crash of one actor leaves its neighbours alone', async (t) => {
  const { bug, kinds } = oneBug();
  const fixture = await startOwner(t, { kinds });
  const [, { node }] = [
    await fixture.createLiveNode(1),
    await fixture.createLiveNode(2),
    await fixture.createLiveNode(3),
  ];
  bug.armed = { kind: 'node', type: 'rescan' };

  fixture.tell('node', node, { type: 'rescan' });
  await until('it crashed', () => fixture.tree.directory.counters.crashes === 1);

  t.deepEqual(column(fixture.sessions.hungUp, 'node'), [node]);
});
