/** What an operator sees of the actors of an admin. */
import test from 'ava';
import { createInspection, type Inspection } from '../../../supervisors/runtime/inspection.ts';
import { session } from '../../support/actors.ts';
import { until } from '../../support/until.ts';
import type { SupervisorsFixture } from './actors-fixture.ts';
import { withBugs } from './faults.ts';
import { startOwner } from './fixture.ts';

const ALL = { kind: null, text: '', order: 'id', offset: 0, limit: 100 } as const;

/** Looks into a tree in which nobody starts any more. */
async function inspectionOf(fixture: SupervisorsFixture): Promise<Inspection> {
  const inspection = createInspection(fixture.tree.directory);
  await until('everybody to run', () =>
    inspection.search(ALL).actors.every(({ condition }) => condition === 'running'),
  );
  return inspection;
}

test('who looks in sees every actor with its cluster, what waits at it and how large it is', async (t) => {
  const fixture = await startOwner(t);
  const nodes = await fixture.createNodes(3);

  const inspection = await inspectionOf(fixture);

  t.deepEqual(
    inspection.families().map(({ kind, actors }) => [kind, actors]),
    [
      ['cluster', 1],
      ['node', 3],
      ['command', 0],
      ['webhook', 0],
      ['self-update', 0],
    ],
  );
  const { actors, total } = inspection.search({ ...ALL, kind: 'node' });
  t.is(total, 3);
  t.deepEqual(
    actors.map(({ id, cluster, condition, mailboxMessages, restarts, lastCrash }) => [
      [id, cluster, condition],
      [mailboxMessages, restarts, lastCrash],
    ]),
    nodes
      .toSorted((one, other) => (one.node < other.node ? -1 : 1))
      .map(({ node, cluster }) => [
        [node, cluster, 'running'],
        [0, 0, null],
      ]),
  );
  t.true(actors.every(({ stateBytes }) => stateBytes !== null && stateBytes > 100 && stateBytes < 20_000));
});

test('a crash is told with its time, the type of its message and the kind of error, and nothing of what the message held', async (t) => {
  const fixture = await startOwner(t, { kinds: withBugs((_kind, type) => type === 'report-late') });
  const { node } = await fixture.createNode();
  const inspection = await inspectionOf(fixture);

  fixture.tell('node', node, { type: 'report-late', session: session(1) });
  await until('the restart', () => {
    const [found] = inspection.search({ ...ALL, text: node }).actors;
    return found?.restarts === 1 && found.condition === 'running';
  });

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
  const fixture = await startOwner(t);
  const nodes = (await fixture.createNodes(5)).map(({ node }) => node).toSorted();
  const inspection = await inspectionOf(fixture);
  const idsBy = (query: object) => inspection.search({ ...ALL, ...query }).actors.map(({ id }): string => id);
  const { cluster } = inspection.search({ ...ALL, kind: 'node' }).actors[0] ?? {};

  t.deepEqual(idsBy({ text: (nodes[2] ?? '').slice(20).toUpperCase() }), [nodes[2]] as string[]);
  t.is(inspection.search({ ...ALL, text: cluster ?? 'none' }).total, 6);
  t.deepEqual(inspection.search({ ...ALL, kind: 'node', offset: 2, limit: 2 }), {
    actors: inspection.search({ ...ALL, kind: 'node' }).actors.slice(2, 4),
    total: 5,
  });
  t.deepEqual<readonly string[], readonly string[]>(idsBy({ kind: 'node', offset: 2, limit: 2 }), nodes.slice(2, 4));
  t.deepEqual(inspection.search({ ...ALL, text: 'nobody' }), { actors: [], total: 0 });
});
