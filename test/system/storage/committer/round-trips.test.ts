/** How a batch is sent: at once where nothing of it is refused, and step by step where something is. */
import test from 'ava';
import type { PoolClient } from 'pg';
import { SERIES_BYTES_MAX } from '../../../../persistence/committer/hot-commits.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { finish, openFixture, well, type Fixture } from '../../../support/database/committer-fixture.ts';

/** What goes over the wire of a connection: `query` and `sync` each have one `readyForQuery` as their answer. */
interface Wire {
  query: (text: string) => void;
  sync: (text: string) => void;
  prependListener(event: 'readyForQuery', heard: () => void): void;
}

/** Counts how often something is sent while nothing is unanswered, on connections that are used from now on. */
function countTrips(fixture: Fixture): { trips: number } {
  const counted = { trips: 0 };
  const known = new WeakSet<Wire>();
  const count = (client: PoolClient): void => {
    const { connection: wire } = client as unknown as { readonly connection: Wire };
    if (known.has(wire)) return;
    known.add(wire);
    let unanswered = 0;
    for (const name of ['query', 'sync'] as const) {
      const send = wire[name].bind(wire);
      wire[name] = (text) => {
        if (unanswered === 0) counted.trips += 1;
        unanswered += 1;
        send(text);
      };
    }
    wire.prependListener('readyForQuery', () => (unanswered -= 1));
  };
  for (const pool of new Set([fixture.database.pool, fixture.database.writes])) pool.on('acquire', count);
  return counted;
}

test('all that a batch stores is sent at once', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const execution = await fixture.execution(node);
  const counted = countTrips(fixture);

  const outcome = await fixture.commit(lease, [
    { kind: 'output-part', execution, part: 0, text: 'x' },
    { kind: 'execution-sent', execution, atMs: NOW_MS },
    finish(execution),
    well(node),
  ]);

  t.deepEqual(outcome, ['ok', 'ok', 'ok', 'ok']);
  t.is(counted.trips, 1);
});

test('a batch that does not fit into the buffers of a connection goes step by step', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const execution = await fixture.execution(await fixture.node(lease));
  const counted = countTrips(fixture);

  const outcome = await fixture.commit(lease, [
    { kind: 'output-part', execution, part: 0, text: 'x'.repeat(SERIES_BYTES_MAX) },
  ]);

  t.deepEqual(outcome, ['ok']);
  t.true(counted.trips > 1, `${counted.trips} round trips`);
});

test('of a batch in which something is refused the rest is stored, with nothing told twice', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const [node, other] = [await fixture.node(lease), await fixture.node(lease)];
  const [execution, ended] = [await fixture.execution(node), await fixture.execution(other)];
  await fixture.store(lease, finish(ended));
  const told = fixture.notices.length;

  const outcomes = await Promise.all([
    fixture.commit(lease, [finish(ended)]),
    fixture.commit(lease, [finish(execution)]),
  ]);

  t.deepEqual(outcomes, [['conflict'], ['ok']]);
  t.deepEqual(
    await fixture.rows('select count(*)::int from event where subject = any($1) group by subject', [
      [ended, execution],
    ]),
    [{ count: 1 }, { count: 1 }],
  );
  t.is(fixture.notices.length - told, 1);
});

test('what was at fault is told, not what it left of the transaction', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const execution = await fixture.execution(node);
  await fixture.rows("alter table command_execution add constraint none check (status <> 'completed') not valid");

  const outcome = await fixture.commit(lease, [finish(execution), well(node)]).then(String, String);

  t.regex(outcome, /violates check constraint "none"/u);
});
