/** What the tree does with messages, actors and a database that fails. */
import test from 'ava';
import { setTimeout as delay } from 'node:timers/promises';
import { v7 } from 'uuid';
import { MAILBOX_MESSAGES_MAX } from '../../../actors/limits.ts';
import type { NodeMessage } from '../../../actors/node/messages.ts';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import type { KindTable } from '../../../supervisors/runtime/kinds.ts';
import { CRASHES_MAX, decideRestart, ESCALATE_WINDOW_MS, REST_MS } from '../../../supervisors/runtime/revival.ts';
import type { ClusterId, CommandId, NodeId } from '../../../transport/protocol/ids.ts';
import { HEALTHY, REGISTRATION, result, session, UNHEALTHY } from '../../support/actors.ts';
import { until } from '../../support/until.ts';
import { startSupervisors, type SupervisorsFixture } from './fixture.ts';
import type { Committer } from '../../../supervisors/ports.ts';
import { patient } from '../../support/busy.ts';

test('who is asked and does not exist answers not_found, and is a dead letter', async (t) => {
  const fixture = await startSupervisors(t);

  const answers = await Promise.all([
    fixture.tree.ask((replyTo) => ({ to: { kind: 'node', id: v7() as NodeId }, message: { type: 'delete', replyTo } })),
    fixture.tree.ask((replyTo) => ({
      to: { kind: 'cluster', id: v7() as ClusterId },
      message: { type: 'delete', replyTo },
    })),
    fixture.tree.ask((replyTo) => ({
      to: { kind: 'command', id: v7() as CommandId },
      message: { type: 'cancel', replyTo },
    })),
  ]);

  t.deepEqual(
    answers.map((answer) => (answer.ok ? 'ok' : answer.refusal.code)),
    ['not_found', 'not_found', 'not_found'],
  );
  t.is(fixture.tree.directory.counters.deadLetters, 3);
  t.deepEqual(counts(fixture), [0, 0, 0]);
});

test('an agent whose node was deleted behind the gate is hung up as revoked (E5)', async (t) => {
  const fixture = await startSupervisors(t);

  fixture.connect(v7() as NodeId, 5);
  await until('it is hung up', () => fixture.sessions.hungUp.length === 1);

  t.deepEqual(fixture.sessions.hungUp, [{ session: session(5), node: null, code: 4003 }]);
});

test('what was refused at its birth leaves nobody behind', async (t) => {
  const fixture = await startSupervisors(t);
  await fixture.createCluster('taken');

  await t.throwsAsync(fixture.createCluster('taken'), { message: /conflict/u });
  await until('it is gone', () => fixture.tree.directory.count('cluster') === 1);
  t.pass();
});

test('a command lives until its last execution is over', async (t) => {
  const fixture = await startSupervisors(t);
  const { cluster, nodes } = await fixture.plant(2);
  for (const [index, node] of nodes.entries()) fixture.connect(node, index + 1);
  const { command, executions } = await fixture.run(nodes.map((node) => ({ node, cluster })));
  t.is(fixture.tree.directory.count('command'), 1);

  for (const [index, node] of nodes.entries())
    fixture.tree.directory.tell({
      to: { kind: 'node', id: node },
      message: {
        type: 'results-arrived',
        session: session(index + 1),
        results: [result(1, { execution: executions[index]! })],
      },
    });
  await until('it is gone', () => fixture.tree.directory.count('command') === 0);
  const deleted = await fixture.tree.ask((replyTo) => ({
    to: { kind: 'command', id: command },
    message: { type: 'delete', replyTo },
  }));

  t.deepEqual(deleted, { ok: true, value: null });
  await until('it is gone again', () => fixture.tree.directory.count('command') === 0);
});

test('a create that is not answered by the database is answered with unavailable, and leaves all or nothing', async (t) => {
  for (const isStored of [true, false]) {
    const fault = failing(isStored);
    const fixture = await startSupervisors(t, { committer: (real) => fault.wrap(real) });
    const {
      cluster,
      nodes: [node],
    } = await fixture.plant(1);
    fault.fail();

    await t.throwsAsync(fixture.run([{ node: node!, cluster }]), { message: /service_unavailable/u });

    t.is((await fixture.rows('select 1 from command_execution')).length, isStored ? 1 : 0);
    if (isStored) {
      fixture.connect(node!, 1);
      await until('its node is told after all', () =>
        fixture.sessions.frames.some(({ frame }) => frame.type === 'deliver'),
      );
    }
  }
});

test('a create that comes through after everyone gave it up reaches its node all the same', async (t) => {
  const released = Promise.withResolvers<void>();
  let isFailing = false;
  const fixture = await startSupervisors(t, {
    committer: (real) => ({
      ready: () => real.ready(),
      async commit(lease, changes) {
        if (!isFailing) return real.commit(lease, changes);
        isFailing = false;
        void released.promise.then(() => real.commit(lease, changes));
        throw new DatabaseUnavailable('the connection was lost');
      },
    }),
  });
  const {
    cluster,
    nodes: [node],
  } = await fixture.plant(1);
  fixture.connect(node!, 1);
  isFailing = true;
  await t.throwsAsync(fixture.run([{ node: node!, cluster }]), { message: /service_unavailable/u });
  await until('the command is given up', () => fixture.tree.directory.count('command') === 0);

  released.resolve();

  await until('its node is told after all', () =>
    fixture.sessions.frames.some(({ frame }) => frame.type === 'deliver'),
  );
  t.is((await fixture.rows('select 1 from command_execution')).length, 1);
});

test('a result whose commit is in doubt is stored once and confirmed', async (t) => {
  for (const isStored of [true, false]) {
    const fault = failing(isStored);
    const fixture = await startSupervisors(t, { committer: (real) => fault.wrap(real) });
    const {
      cluster,
      nodes: [node],
    } = await fixture.plant(1);
    fixture.connect(node!, 1);
    const {
      executions: [execution],
    } = await fixture.run([{ node: node!, cluster }]);
    fault.fail();

    fixture.tree.directory.tell({
      to: { kind: 'node', id: node! },
      message: { type: 'results-arrived', session: session(1), results: [result(1, { execution: execution! })] },
    });
    await until('it is confirmed', () => fixture.sessions.frames.some(({ frame }) => frame.type === 'confirm'));

    t.deepEqual(await fixture.eventsOf(execution!), [
      'edge.command_execution.created',
      'edge.command_execution.sent',
      'edge.command_execution.completed',
    ]);
    t.is(fixture.tree.directory.counters.crashes, 0);
    t.deepEqual(fixture.sessions.hungUp, [], 'its session stays');
  }
});

test('of messages that are stored together, the one that cannot be stored crashes its actor once; the ones before it are stored', async (t) => {
  const fixture = await startSupervisors(t);
  const {
    cluster,
    nodes: [node],
  } = await fixture.plant(1);
  fixture.connect(node!, 1);
  const executions = [];
  for (let index = 0; index < 3; index += 1)
    executions.push(...(await fixture.run([{ node: node!, cluster }])).executions);
  const [before, poison, after] = executions;
  const results = (number: number, execution: typeof before, exit_code: number) => ({
    type: 'results-arrived' as const,
    session: session(number),
    results: [result(1, { execution: execution!, exit_code })],
  });

  for (const message of [results(1, before, 0), results(1, poison, 2 ** 40), results(1, after, 0)])
    fixture.tree.directory.tell({ to: { kind: 'node', id: node! }, message });
  await until('it crashed', () => fixture.tree.directory.counters.crashes === 1);
  t.is(await fixture.statusOf(before!), 'completed');

  fixture.connect(node!, 2, [poison!, after!]);
  fixture.tree.directory.tell({ to: { kind: 'node', id: node! }, message: results(2, after, 0) });
  await until('the rest is stored', async () => (await fixture.statusOf(after!)) === 'completed');
  t.is(fixture.tree.directory.counters.crashes, 1);
  t.is(await fixture.statusOf(poison!), 'sent');
});

test(`a mailbox takes ${MAILBOX_MESSAGES_MAX} messages; who comes then is refused at once, and the others are not hindered`, async (t) => {
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const fixture = await startSupervisors(t, {
    committer: (real) => ({
      ready: () => real.ready(),
      commit: async (lease, changes) => {
        if (isHeld) await gate.promise;
        return real.commit(lease, changes);
      },
    }),
  });
  const {
    nodes: [node, other],
  } = await fixture.plant(2);
  fixture.connect(node!, 1);
  await until('it is welcome', () => fixture.sessions.frames.length === 1);
  isHeld = true;
  const down = { type: 'agent-reported', session: session(1), report: UNHEALTHY } as const;
  fixture.tree.directory.tell({ to: { kind: 'node', id: node! }, message: down });
  await new Promise((resolve) => {
    setImmediate(resolve);
  }); // it is storing now

  const taken = Array.from({ length: MAILBOX_MESSAGES_MAX + 10 }, () =>
    fixture.tree.directory.tell({ to: { kind: 'node', id: node! }, message: down }),
  );
  const began = performance.now();
  const refused = await fixture.tree.ask((replyTo) => ({
    to: { kind: 'node', id: node! },
    message: { type: 'delete-alias', replyTo, id: v7() },
  }));
  const served = await fixture.tree.ask((replyTo) => ({
    to: { kind: 'node', id: other! },
    message: { type: 'delete-alias', replyTo, id: v7() },
  }));

  t.is(taken.filter(Boolean).length, MAILBOX_MESSAGES_MAX);
  t.like(refused, { ok: false, refusal: { code: 'service_unavailable' } });
  t.like(served, { ok: false, refusal: { code: 'not_found' } });
  t.true(performance.now() - began < patient(1_000));
  isHeld = false;
  gate.resolve();
});

test('a node whose mailbox was full when its rows came goes on: its next command is delivered', async (t) => {
  const [stored, loaded, asked] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
  ];
  let isHeld = false;
  const fixture = await startSupervisors(t, {
    committer: (real) => ({
      ready: () => real.ready(),
      commit: async (lease, changes) => {
        if (isHeld) await stored.promise;
        return real.commit(lease, changes);
      },
    }),
    loader: (real) => ({
      ...real,
      openExecutions: async (...question) => {
        asked.resolve();
        await loaded.promise;
        return real.openExecutions(...question);
      },
    }),
  });
  const {
    cluster,
    nodes: [node],
  } = await fixture.plant(1);
  const tell = (message: NodeMessage): boolean =>
    fixture.tree.directory.tell({ to: { kind: 'node', id: node! }, message });
  fixture.connect(node!, 1);
  await until('it is welcome', () => fixture.sessions.frames.length === 1);

  tell({ type: 'rescan' });
  await asked.promise;
  isHeld = true;
  const down = { type: 'agent-reported', session: session(1), report: UNHEALTHY } as const;
  await until('it stays full: what is decided behind what is being stored leaves it once more', async () => {
    Array.from({ length: MAILBOX_MESSAGES_MAX }, () => tell(down));
    await delay(50);
    return !tell(down);
  });
  const { deadLetters } = fixture.tree.directory.counters;
  loaded.resolve();
  await until('the rows found no room', () => fixture.tree.directory.counters.deadLetters > deadLetters);
  isHeld = false;
  stored.resolve();
  await until('it is empty', () => [...fixture.tree.directory.cells('node')].every((one) => one.mailbox.size() === 0));
  await fixture.run([{ node: node!, cluster }]);
  await until('it is delivered', () => fixture.sessions.frames.some(({ frame }) => frame.type === 'deliver'));

  t.is(fixture.tree.directory.counters.crashes, 0);
});

test(`an actor that crashes ${CRASHES_MAX} times in a minute rests for one, and who asks it meanwhile is refused at once`, async (t) => {
  const kinds = (table: KindTable): KindTable => ({
    ...table,
    node: {
      ...table.node,
      behaviour: {
        ...table.node.behaviour,
        transition: () => {
          throw new Error('a bug');
        },
      },
    },
  });
  const fixture = await startSupervisors(t, { kinds });
  const {
    nodes: [node],
  } = await fixture.plant(1);
  for (let crash = 0; crash < CRASHES_MAX; crash += 1)
    fixture.tree.directory.tell({ to: { kind: 'node', id: node! }, message: { type: 'rescan' } });
  await until('it rests', () => fixture.tree.directory.counters.escalations === 1);
  const began = performance.now();

  const refused = await fixture.tree.ask((replyTo) => ({
    to: { kind: 'node', id: node! },
    message: { type: 'delete-alias', replyTo, id: v7() },
  }));

  t.like(refused, { ok: false, refusal: { code: 'service_unavailable' } });
  t.true(performance.now() - began < patient(500));
});

test('crashes wait twice as long each time, and those of more than a minute ago are forgotten', (t) => {
  let earlier: readonly number[] = [];
  const waits = [];
  for (let crash = 0; crash < CRASHES_MAX - 1; crash += 1) {
    const decision = decideRestart(earlier, 1_000 + crash);
    earlier = decision.crashesMs;
    waits.push(decision.afterMs);
  }

  t.deepEqual(waits, [20, 40, 80, 160]);
  t.deepEqual(decideRestart(earlier, 1_010), { afterMs: REST_MS, escalated: true, crashesMs: [] });
  t.deepEqual(decideRestart(earlier, 1_003 + ESCALATE_WINDOW_MS), {
    afterMs: 20,
    escalated: false,
    crashesMs: [1_003 + ESCALATE_WINDOW_MS],
  });
});

test('messages, their secrets above all, are never logged', async (t) => {
  const kinds = (table: KindTable): KindTable => ({
    ...table,
    node: {
      ...table.node,
      behaviour: {
        ...table.node.behaviour,
        transition: () => {
          throw new Error('a bug');
        },
      },
    },
  });
  const fixture = await startSupervisors(t, { kinds });
  const {
    nodes: [node],
  } = await fixture.plant(1);

  await fixture.tree.ask((replyTo) => ({
    to: { kind: 'node', id: node! },
    message: {
      type: 'set-recovery-key',
      replyTo,
      keyHash: Buffer.alloc(32),
      key: 'canary-of-this-test',
      idempotency: null,
    },
  }));
  await fixture.tree.ask((replyTo) => ({
    to: { kind: 'node', id: v7() as NodeId },
    message: {
      type: 'set-recovery-key',
      replyTo,
      keyHash: Buffer.alloc(32),
      key: 'canary-of-this-test',
      idempotency: null,
    },
  }));

  t.true(fixture.log.lines.some((line) => line.message === 'an actor crashed'));
  t.false(
    JSON.stringify(fixture.log.lines, (_key, value: unknown) =>
      value instanceof Error ? `${value.stack}` : value,
    ).includes('canary'),
  );
});

test('an enrolled node lives at once, and takes its agent', async (t) => {
  const fixture = await startSupervisors(t);
  const {
    nodes: [node],
  } = await fixture.plant(1);

  fixture.tree.directory.tell({
    to: { kind: 'node', id: node! },
    message: {
      type: 'agent-connected',
      session: session(3),
      hello: { registration: REGISTRATION, report: HEALTHY, holding: [] },
    },
  });
  await until('it is welcome', () => fixture.sessions.frames.some(({ frame }) => frame.type === 'welcome'));

  t.deepEqual(await fixture.rows('select status from node'), [{ status: 'healthy' }]);
});

function counts(fixture: SupervisorsFixture): number[] {
  return [
    fixture.tree.directory.count('node'),
    fixture.tree.directory.count('cluster'),
    fixture.tree.directory.count('command'),
  ];
}

/** A committer whose next commit is in doubt: stored or not, nobody is told. */
function failing(isStored: boolean): { wrap(real: Committer): Committer; fail(): void } {
  let isFailing = false;
  return {
    fail() {
      isFailing = true;
    },
    wrap: (real) => ({
      ready: () => real.ready(),
      async commit(lease, changes) {
        if (!isFailing) return real.commit(lease, changes);
        isFailing = false;
        if (isStored) await real.commit(lease, changes);
        throw new DatabaseUnavailable('the connection was lost');
      },
    }),
  };
}
