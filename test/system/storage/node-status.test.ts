/** The status of a node as rows, for other admins and over a migration. */
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { createLoader } from '../../../persistence/loader/loader.ts';
import { evidence, NOW_MS } from '../../support/actors.ts';
import { openFixture, well, type Fixture } from '../../support/database/committer-fixture.ts';
import { readsOf } from '../../support/database/opened.ts';

/** The rows of a fixture as another admin reads them. */
async function anotherAdmin(t: ExecutionContext, { connection }: Fixture) {
  const { database } = await openFixture(t, connection);
  return { database, loader: createLoader(database.pool), reads: readsOf(database) };
}

test('since when a node has its status, why, and when it changed lately are what another admin finds', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const [node, fresh] = [await fixture.node(lease), await fixture.node(lease)];
  const { loader, reads } = await anotherAdmin(t, fixture);
  const reason = 'ssh: it says "no", {really}, with \\ and \u2028 and ü';
  const standing = {
    sinceMs: NOW_MS - 5_000,
    reason,
    evidence: evidence(NOW_MS, {
      services: [{ name: 'ssh', problem: reason }],
      vpn: { handshake_age_ms: 12, path: 'relayed' as const },
    }),
    changesMs: [NOW_MS - 9_000, NOW_MS - 5_000],
  };

  t.deepEqual(await fixture.commit(lease, [well(node, { status: 'unhealthy', standing })]), ['ok']);

  const state = await loader.node(node);
  t.deepEqual([state?.record.status, state?.record.standing], ['unhealthy', standing]);
  const shown = (await reads.get('nodes', node)) as NodeResource;
  t.like(shown, { status: 'unhealthy', status_since: new Date(NOW_MS - 5_000).toISOString(), status_reason: reason });
  t.deepEqual(shown.status_evidence, standing.evidence);
  t.like((await reads.get('nodes', fresh)) as NodeResource, {
    status: 'unreachable',
    status_reason: 'It has not connected yet',
    status_evidence: null,
  });
});

test('nodes from before an admin knew of reasons get the one that can be told', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const [well, gone, never] = [await fixture.node(lease), await fixture.node(lease), await fixture.node(lease)];
  const { database, reads } = await anotherAdmin(t, fixture);
  await fixture.rows(`update node set status = 'healthy' where id = $1`, [well]);
  await fixture.rows(`update node set last_seen_at = '2026-01-02T03:04:05.067Z' where id = $1`, [gone]);
  await fixture.rows('alter table node drop column status_since, drop column status_reason, drop column status_detail');
  await fixture.rows(`delete from mikro_orm_migrations where name like '%node_status'`);

  await database.migrate();

  const reasons = await Promise.all(
    [well, gone, never].map(async (id) => ((await reads.get('nodes', id)) as NodeResource).status_reason),
  );
  t.deepEqual(reasons, [null, 'Nothing heard since 2026-01-02T03:04:05.067Z', 'It has not connected yet']);
  const { status_since: since, updated_at: updated } = (await reads.get('nodes', gone)) as NodeResource;
  t.is(since, updated);
});

test('an admin of before that still runs enrols a node as it did', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const { reads } = await anotherAdmin(t, fixture);
  const [columns] = await fixture.rows<{ names: string }>(
    `select string_agg(quote_ident(column_name), ', ') as names from information_schema.columns where table_name = 'node' and column_name not in ('id', 'token_hash', 'status_since', 'status_reason', 'status_detail')`,
    [],
  );
  const node = randomUUID();

  await fixture.rows(
    `insert into node (id, token_hash, ${columns?.names}) select $1, sha256('another'), ${columns?.names} from node where id = $2`,
    [node, await fixture.node(lease)],
  );

  t.like((await reads.get('nodes', node)) as NodeResource, { status: 'unreachable', status_reason: null });
});
