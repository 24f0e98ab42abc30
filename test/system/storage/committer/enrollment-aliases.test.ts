/** Aliases that machines bring when they enrol. */
import test, { type ExecutionContext } from 'ava';
import { v7 } from 'uuid';
import { VPN_ALIASES_MAX } from '../../../../transport/protocol/vpn.ts';
import type { NodeEnrolled } from '../../../../actors/writes.ts';
import { column } from '../../../support/database/columns.ts';
import { enrolled, enrolment, openFixture } from '../../../support/database/committer-fixture.ts';

const aliasesOf = (names: readonly string[]) => names.map((name) => ({ id: v7(), name }));

/** A cluster with a key, and what enrols with it. */
async function cluster(t: ExecutionContext) {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const key = await fixture.key(lease.cluster, 5);
  return {
    fixture,
    withAliases: (...names: readonly string[]) => enrolment(lease.cluster, key, { aliases: aliasesOf(names) }),
    enrol: (write: NodeEnrolled) => fixture.commit(lease, [enrolled(write)]),
  };
}

test('an enrolment brings its aliases, without those that another node of its cluster has', async (t) => {
  const { fixture, withAliases, enrol } = await cluster(t);

  t.deepEqual([await enrol(withAliases('press')), await enrol(withAliases('press', 'mill'))], [['ok'], ['ok']]);

  t.deepEqual(
    await fixture.rows('select name, count(distinct node_id)::int as nodes from alias group by name order by name'),
    [
      { name: 'mill', nodes: 1 },
      { name: 'press', nodes: 1 },
    ],
  );
});

test('a node that enrols again keeps its aliases, and takes no more than there is room for', async (t) => {
  const { fixture, withAliases, enrol } = await cluster(t);
  const own = Array.from({ length: VPN_ALIASES_MAX - 1 }, (_, n) => `own-${String(n).padStart(2, '0')}`);
  const first = withAliases(...own.slice(0, 8));
  await enrol(first);
  for (const name of own.slice(8))
    await fixture.rows(
      `insert into alias (id, node_id, cluster_id, name, inserted_at, updated_at) values ('${v7()}', '${first.node}', '${first.cluster}', '${name}', now(), now())`,
    );

  const again = {
    ...first,
    aliases: aliasesOf(['first-new', 'own-03', 'second-new']),
    spendsUse: false,
    existing: { type: 'retry' as const, machineSecretHash: null },
    tokenHash: Buffer.from(v7()),
  };
  t.deepEqual(await enrol(again), ['ok']);

  t.deepEqual(column(await fixture.rows<{ name: string }>('select name from alias order by name'), 'name'), [
    'first-new',
    ...own,
  ]);
});
