import test from 'ava';
import type { KindTable } from '../../../supervisors/runtime/kinds.ts';
import { createInspection, type Inspection } from '../../../supervisors/runtime/inspection.ts';
import { until } from '../../support/until.ts';
import { startSupervisors, type SupervisorsFixture } from './fixture.ts';

const ALL = { kind: null, text: '', order: 'id', offset: 0, limit: 100 } as const;

/** Looks into a tree in which nobody starts any more. */
async function inspectionOf(fixture: SupervisorsFixture): Promise<Inspection> {
  const inspection = createInspection(fixture.tree.directory);
  await until('everybody to run', () =>
    inspection.search(ALL).actors.every(({ condition }) => condition === 'running'),
  );
  return inspection;
}

/** A node that crashes on every `report-late`. */
function fragile(table: KindTable): KindTable {
  const { behaviour } = table.node;
  return {
    ...table,
    node: {
      ...table.node,
      behaviour: {
        ...behaviour,
        transition: (state, message, nowMs) => {
          if (message.type === 'report-late') throw new TypeError('the secret of the message');
          return behaviour.transition(state, message, nowMs);
        },
      },
    },
  };
}

test('who looks in sees every actor with its cluster, what waits at it and how large it is', async (t) => {
  const fixture = await startSupervisors(t);
  const { cluster, nodes } = await fixture.plant(3);

  const inspection = await inspectionOf(fixture);

  t.deepEqual(
    inspection.families().map(({ kind, actors }) => [kind, actors]),
    [
      ['cluster', 1],
      ['node', 3],
      ['command', 0],
      ['webhook', 0],
    ],
  );
  const { actors, total } = inspection.search({ ...ALL, kind: 'node' });
  t.is(total, 3);
  t.deepEqual(
    actors.map(({ id, cluster: of, condition, mailboxMessages, restarts, lastCrash }) => ({
      id,
      of,
      condition,
      mailboxMessages,
      restarts,
      lastCrash,
    })),
    [...nodes]
      .sort()
      .map((id) => ({ id, of: cluster, condition: 'running', mailboxMessages: 0, restarts: 0, lastCrash: null })),
  );
  t.true(actors.every(({ stateBytes }) => stateBytes !== null && stateBytes > 100 && stateBytes < 20_000));
});

test('a crash is told with its time, the type of its message and the kind of error, and nothing of what the message held', async (t) => {
  const fixture = await startSupervisors(t, { kinds: fragile });
  const {
    nodes: [node],
  } = await fixture.plant(1);
  if (node === undefined) throw new Error('no node');
  const inspection = await inspectionOf(fixture);

  fixture.tree.directory.tell({
    to: { kind: 'node', id: node },
    message: { type: 'report-late', session: 1 as never },
  });
  await until(
    'the restart',
    () =>
      inspection.search({ ...ALL, order: 'restarts' }).actors[0]?.restarts === 1 &&
      inspection.search({ ...ALL, text: node }).actors[0]?.condition === 'running',
  );

  const [snapshot] = inspection.search({ ...ALL, order: 'restarts' }).actors;
  t.like(snapshot, {
    kind: 'node',
    id: node,
    restarts: 1,
    lastCrash: { messageType: 'report-late', error: 'TypeError' },
  });
  t.false(JSON.stringify(snapshot).includes('secret'));
  t.is(inspection.families().find(({ kind }) => kind === 'node')?.restarts, 1);
});

test('actors are found by any part of their id or of their cluster, a page at a time', async (t) => {
  const fixture = await startSupervisors(t);
  const { cluster, nodes } = await fixture.plant(5);
  const inspection = await inspectionOf(fixture);
  const sorted = [...nodes].sort();

  t.deepEqual(
    inspection.search({ ...ALL, text: (nodes[2] ?? '').slice(20).toUpperCase() }).actors.map(({ id }) => id),
    [nodes[2]],
  );
  t.is(inspection.search({ ...ALL, text: cluster }).total, 6);
  t.deepEqual(inspection.search({ ...ALL, kind: 'node', offset: 2, limit: 2 }), {
    actors: inspection.search({ ...ALL, kind: 'node' }).actors.slice(2, 4),
    total: 5,
  });
  t.deepEqual(
    inspection.search({ ...ALL, kind: 'node', offset: 2, limit: 2 }).actors.map(({ id }) => id),
    sorted.slice(2, 4),
  );
  t.deepEqual(inspection.search({ ...ALL, text: 'nobody' }), { actors: [], total: 0 });
});
