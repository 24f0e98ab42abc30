/** Enrolment when many come at once: the rows decide who is in (E1, E2). */
import test from 'ava';
import * as fc from 'fast-check';
import { v7 } from 'uuid';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import type { NodeEnrolled } from '../../../../actors/writes.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { enrolled, enrolment, openFixture, well } from '../../../support/database/committer-fixture.ts';
import { committed, retryOf, told, toldAtOnce, usesAndNodes } from './enrollment-fixture.ts';

test('k uses admit exactly k of n agents, in any order and through any admin, and the others get key_spent (E1)', async (t) => {
  const fixture = await openFixture(t);
  const other = await openFixture(t, fixture.connection);
  const lease = await fixture.cluster();
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
      async (uses, agents) => {
        const key = await fixture.key(lease.cluster, uses);
        const writes = agents.map(() => enrolment(lease.cluster, key));

        const outcomes = await Promise.all(
          writes.map((write, index) => committed(agents[index] ? other : fixture, lease, write)),
        );

        const inside = Math.min(uses, agents.length);
        t.deepEqual(outcomes.flat().toSorted(), [
          ...Array<string>(agents.length - inside).fill('key_spent'),
          ...Array<string>(inside).fill('ok'),
        ]);
        t.deepEqual(
          await fixture.rows(
            'select uses_remaining, (select count(*)::int from node where enrollment_key_id = $1) as nodes from enrollment_key where id = $1',
            [key],
          ),
          [{ uses_remaining: uses - inside, nodes: inside }],
        );
        // Each attempt is an event, with the uses that were left after it.
        const events = await fixture.rows<{ result: string; left: number }>(
          "select data->>'result' as result, (data->>'uses_remaining')::int as left from event where subject = any($1) order by 1 desc, 2 desc",
          [writes.map((write) => write.node)],
        );
        t.deepEqual(
          events.map((event) => `${event.result} ${event.left}`),
          [
            ...Array.from({ length: inside }, (_, index) => `verified ${uses - index - 1}`),
            ...Array<string>(agents.length - inside).fill('key_spent 0'),
          ],
        );
      },
    ),
    { numRuns: 12 },
  );
  t.deepEqual(await fixture.rows('select node_count - (select count(*) from node)::int as off from cluster'), [
    { off: 0 },
  ]);
});

test('a node limit holds when more come at once, and what they used of the key is given back', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster({ nodeLimit: 3 });
  const key = await fixture.key(lease.cluster, 50);

  const writes = Array.from({ length: 8 }, () => enrolment(lease.cluster, key));
  t.deepEqual(await toldAtOnce([fixture], lease, writes), [
    ...Array<string>(5).fill('node_limit_reached'),
    ...Array<string>(3).fill('ok'),
  ]);
  t.deepEqual(await usesAndNodes(fixture), [{ uses: 47, nodes: 3 }]);
  const lefts = await fixture.rows<{ left: number }>(
    "select (data->>'uses_remaining')::int as left from event where data->>'result' = 'node_limit_reached'",
  );
  t.true(lefts.every(({ left }) => left >= 47 && left <= 50));
});

test('a retry after a lost answer gets new secrets and spends nothing; once the node connected it is refused', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const first = enrolment(lease.cluster, await fixture.key(lease.cluster, 1));

  t.deepEqual(await told(fixture, lease, first, retryOf(first)), ['ok', 'ok']);
  t.deepEqual(await usesAndNodes(fixture), [{ uses: 0, nodes: 1 }]);
  await fixture.store(lease, well(first.node));

  t.deepEqual(await told(fixture, lease, retryOf(first)), ['conflict']);
});

test('a machine that shows its secret gets new secrets whenever it asks; another secret, or none, changes nothing', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const machineSecretHash = Buffer.alloc(32, 3);
  const first = enrolment(lease.cluster, await fixture.key(lease.cluster, 1), { machineSecretHash });
  await fixture.store(lease, enrolled(first));
  await fixture.store(lease, well(first.node));
  const shown = [machineSecretHash, Buffer.alloc(32, 4), null];

  t.deepEqual(await told(fixture, lease, ...shown.map((hash) => retryOf(first, hash))), ['ok', 'conflict', 'conflict']);

  t.deepEqual(await usesAndNodes(fixture), [{ uses: 0, nodes: 1 }]);
});

for (const uses of [1, 9, null]) {
  test(`a retry sent before its first try is stored gets a 503 and spends nothing (a key of ${uses ?? 'any number of'} uses)`, async (t) => {
    const fixture = await openFixture(t);
    const lease = await fixture.cluster();
    const key = await fixture.key(lease.cluster, uses);
    const first = enrolment(lease.cluster, key, { machineSecretHash: Buffer.alloc(32, 3) });
    const retry = { ...first, tokenHash: Buffer.from(v7()) };
    const stranger = { ...retry, machineSecretHash: Buffer.alloc(32, 4) };

    t.deepEqual(await toldAtOnce([fixture], lease, [first, retry]), ['ok', 'service_unavailable']);
    t.deepEqual(await told(fixture, lease, stranger), [uses === 1 ? 'key_spent' : 'conflict']);
    t.deepEqual(await usesAndNodes(fixture), [{ uses: uses === null ? null : uses - 1, nodes: 1 }]);
  });
}

test("the id of a deleted node is refused whatever uses the key has, and its old token is known as a deleted node's", async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const key = await fixture.key(lease.cluster, null);
  const [deleted, unknown] = [enrolment(lease.cluster, key), enrolment(lease.cluster, key)];
  await fixture.commit(lease, [enrolled(deleted)]);
  await fixture.commit(lease, [{ kind: 'node-deleted', node: deleted.node, atMs: NOW_MS }]);

  t.deepEqual(await told(fixture, lease, { ...deleted, tokenHash: Buffer.from(v7()) }, unknown), ['conflict', 'ok']);
  t.deepEqual(await fixture.rows('select id, token_hash from deleted_node'), [
    { id: deleted.node, token_hash: deleted.tokenHash },
  ]);
  t.deepEqual(await fixture.rows('select id from node'), [{ id: unknown.node }]);
});

test('of two new agents with one id one is in, and the other spends nothing', async (t) => {
  const fixture = await openFixture(t);
  const other = await openFixture(t, fixture.connection);
  const lease = await fixture.cluster();
  const key = await fixture.key(lease.cluster, 9);
  const node = v7() as NodeId;

  const writes = [enrolment(lease.cluster, key, { node }), enrolment(lease.cluster, key, { node })];
  t.deepEqual(await toldAtOnce([fixture, other], lease, writes), ['conflict', 'ok']);
  t.deepEqual(await usesAndNodes(fixture), [{ uses: 8, nodes: 1 }]);
});

test('a key that expires or is deleted on the way lets nobody in, and the event says what the rows say', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  // by the time of the admin, which is behind, it has a minute left
  const late = enrolment(lease.cluster, await fixture.key(lease.cluster, 3, NOW_MS + 60_000));
  const gone = enrolment(lease.cluster, v7());

  t.deepEqual(await told(fixture, lease, late, gone), ['key_expired', 'invalid_key']);

  const dataOf = async ({ node }: NodeEnrolled) =>
    (await fixture.rows<{ data: object }>('select data from event where subject = $1', [node]))[0]?.data;
  t.deepEqual(await dataOf(late), {
    enrollment_key_id: late.enrollmentKey,
    cluster_name: 'c',
    name: null,
    uses_remaining: 3,
    result: 'key_expired',
    verified_at: '',
  });
  t.deepEqual(await dataOf(gone), {
    enrollment_key_id: null,
    cluster_name: null,
    name: null,
    uses_remaining: null,
    result: 'invalid_key',
    verified_at: '',
  });
  t.deepEqual(await fixture.rows('select 1 from node'), []);
});
