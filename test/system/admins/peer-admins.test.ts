/** Three admins, one with clusters: each tells the same of all, and takes a drain of any, by API and command line. */
import test from 'ava';
import type { PeerAdminResource } from '../../../actors/resources/peer-admin.ts';
import { startEdge } from '../../support/edge-program.ts';
import { currentClient } from '../../support/api/mcp-clients.ts';
import { CLUSTER, FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient, type Rest } from '../../support/fleet/rest.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const scope = createScope();
let fleet: Fleet;
let owner: AdminProgram;
/** The two that own nothing. */
let others: readonly AdminProgram[];

test.before('three admins start', async () => {
  fleet = await startFleet(scope, { admins: 3 });
  ({ owner } = await ownership(fleet));
  others = fleet.admins.filter((admin) => admin !== owner);
});
test.after.always('they end', () => scope.end());

const at = (admin: AdminProgram): Rest => restClient(() => admin.url, FLEET_KEYS.API_KEY);
const edge = (admin: AdminProgram, ...args: string[]) =>
  startEdge(args, { EDGE_URL: admin.url, EDGE_API_KEY: FLEET_KEYS.API_KEY }).ended;
const other = (place = 0): AdminProgram => others[place] ?? owner;
const drainingSince = async (name: string): Promise<Date | null> =>
  (
    await fleet.sql<{ since: Date | null }>('select draining_since as since from admin_identity where name = $1', [
      name,
    ])
  )[0]?.since ?? null;

/** What is true whoever answers: without the link of that one, and what each second changes or may. */
function plain({
  link: _link,
  last_checked_in: _checked,
  tasks: _tasks,
  clusters,
  ...admin
}: PeerAdminResource): object {
  return { ...admin, ...(clusters && { clusters: clusters.map(({ lease_until: _until, ...cluster }) => cluster) }) };
}

test.serial('every admin tells the same of all, and how it gets to the others', async (t) => {
  const lists = await until('each to reach the others', async () => {
    const all = await Promise.all(fleet.admins.map((admin) => at(admin).get<readonly PeerAdminResource[]>('/admins')));
    const states = all.flatMap((rows) => rows.map(({ link }) => link?.state));
    return states.filter((state) => state === 'reached').length === 6 ? all : null;
  });
  const seen = await Promise.all(
    fleet.admins.map((admin) => at(admin).get<PeerAdminResource>(`/admins/${owner.name}`)),
  );

  const [first = []] = lists;
  for (const list of lists) t.deepEqual(list.map(plain), first.map(plain));
  t.deepEqual(
    first.map(({ name, status, cluster_count: clusters, url }) => [name, status, clusters, url]),
    fleet.admins.map((admin) => [admin.name, 'live', admin === owner ? 1 : 0, admin.url]),
  );
  lists.forEach((list, place) => {
    for (const { name, link } of list)
      t.is(link?.state, name === fleet.admins[place]?.name ? 'self' : 'reached', `${name} at ${place}`);
    for (const { link } of list.filter((one) => one.link?.state === 'reached'))
      t.true(link?.since !== null && link?.latency_ms !== null && link?.from === fleet.admins[place]?.name);
  });
  for (const one of seen) {
    const [known] = seen;
    if (known !== undefined) t.deepEqual(plain(one), plain(known));
  }
  t.like(seen[0]?.clusters?.[0], { cluster_name: CLUSTER, node_count: 0, epoch: 1 });
  t.true(Date.parse(seen[0]?.clusters?.[0]?.owned_since ?? '') > Date.parse(seen[0]?.started_at ?? ''));
  t.is((await at(other()).get<PeerAdminResource>(`/admins/${seen[0]?.id ?? ''}`)).name, owner.name, 'by its id');
});

test.serial('a drain is stored wherever it is asked for, once, and ended by a resume', async (t) => {
  const drained = await at(other(0)).post<PeerAdminResource>(`/admins/${other(1).name}/drain`);
  const since = await drainingSince(other(1).name);
  const mcp = await currentClient(t, other(1).url, FLEET_KEYS.MCP_KEY);
  const again = await mcp.call('drain_admin', { name: other(1).name });
  const list = await at(owner).get<readonly PeerAdminResource[]>('/admins?status__in=draining');
  const resumed = await at(owner).post<PeerAdminResource>(`/admins/${other(1).name}/resume`);
  const twice = await at(owner).call<PeerAdminResource>('POST', `/admins/${other(1).name}/resume`);

  t.like(drained, { name: other(1).name, status: 'draining', room: 0, draining_since: since?.toISOString() });
  t.like(again, { isError: undefined, structuredContent: { draining_since: since?.toISOString() } });
  t.deepEqual(
    list.map(({ name }) => name),
    [other(1).name],
  );
  t.like(resumed, { status: 'live', draining_since: null });
  t.deepEqual([twice.status, await drainingSince(other(1).name)], [200, null]);
});

test.serial('edge admin lists admins, shows one, waits for a drain, and refuses wrong names', async (t) => {
  const ls = await edge(other(), 'admin', 'ls');
  const ids = await edge(other(), 'admin', 'ls', '-q');
  const wide = await edge(other(), '-o', 'wide', 'admin', 'ls');
  const json = await edge(other(), '-o', 'json', 'admin', 'ls', '-s', 'live');
  const show = await edge(other(), 'admin', 'show', owner.name);
  const drain = await edge(owner, 'admin', 'drain', other().name, '--wait');
  const drained = await drainingSince(other().name);
  const resume = await edge(owner, 'admin', 'resume', other().name);
  const misspelt = await edge(owner, 'admin', 'drain', 'amdin-1');
  const nothingNear = await edge(owner, 'admin', 'show', 'zzz');
  // on a busy machine they may come later than anybody waits for them at a prompt
  const completed = await until('names', async () => {
    const ended = await edge(owner, '__complete', 'admin', 'drain', '');
    return ended.stdout.trim() === '' ? null : ended;
  });
  await edge(owner, 'admin', 'drain', other(0).name);
  await edge(owner, 'admin', 'drain', other(1).name);
  const last = await edge(owner, 'admin', 'drain', owner.name);
  for (const admin of others) await edge(owner, 'admin', 'resume', admin.name);

  t.regex(ls.stdout, /^NAME +STATUS +SINCE +VERSION +CLUSTERS +NODES +ROOM +HEARD +LINK\n/u);
  t.true(
    ls.stdout.split('\n').every((line) => line.length <= 80),
    ls.stdout,
  );
  t.regex(ls.stdout, new RegExp(`\n?${owner.name} +live +\\d+[sm] +\\S+ +1 +0 +\\d+ +\\d+s +reached\n`, 'u'));
  t.regex(ls.stdout, new RegExp(`\n?${other().name} +live +\\d+[sm] +\\S+ +0 +0 +\\d+ +\\d+s +this one\n`, 'u'));
  t.is(ids.stdout, fleet.admins.map(({ name }) => `${name}\n`).join(''));
  t.true(wide.stdout.includes(owner.url) && wide.stdout.includes('LATENCY'));
  t.is((JSON.parse(json.stdout) as unknown[]).length, 3);
  t.regex(
    show.stdout,
    new RegExp(`\nname +${owner.name}\n[^]*\n\nCLUSTER +NODES +EPOCH +OWNED +LEASE UNTIL\n${CLUSTER} +0 +1 +`, 'u'),
  );
  t.deepEqual(drain, {
    status: 0,
    stdout: '',
    stderr: `edge: ${other().name} owns nothing and takes no clusters until edge admin resume ${other().name}\n`,
  });
  t.true(drained instanceof Date);
  t.deepEqual(resume, { status: 0, stdout: '', stderr: `edge: ${other().name} takes clusters again\n` });
  t.deepEqual([misspelt.status, misspelt.stderr], [4, 'edge: there is no admin "amdin-1": did you mean admin-1?\n']);
  t.deepEqual(
    [nothingNear.status, nothingNear.stderr],
    [4, 'edge: there is no admin "zzz": edge admin ls shows all\n'],
  );
  t.is(completed.stdout, fleet.admins.map(({ name }) => `${name}\n`).join(''));
  t.deepEqual(
    [last.status, last.stderr],
    [
      1,
      `edge: ${owner.name} cannot be drained: No other admin is there to take its clusters: start another one, or let one that drains take clusters again.\n`,
    ],
  );
});

test.serial(
  'an admin that is killed is silent, then gone, then forgotten; one that drains is kept, and drains when it is back',
  async (t) => {
    const victim = other(1);
    const status = async (): Promise<string | undefined> =>
      (await at(owner).get<readonly PeerAdminResource[]>('/admins')).find(({ name }) => name === victim.name)?.status;
    await victim.kill();
    await until('it to be silent', async () => (await status()) === 'silent');
    const link = (await at(owner).get<PeerAdminResource>(`/admins/${victim.name}`)).link;
    await at(owner).post(`/admins/${victim.name}/drain`);
    await fleet.sql("update admin set last_checked_in = last_checked_in - interval '6 minutes' where name = $1", [
      victim.name,
    ]);
    const gone = [await status(), (await edge(owner, 'admin', 'resume', victim.name)).stderr];
    await at(owner).post(`/admins/${victim.name}/drain`);
    await fleet.sql("update admin set last_checked_in = last_checked_in - interval '2 hours' where name = $1", [
      victim.name,
    ]);
    await until(
      'its row to be forgotten',
      async () => (await fleet.sql('select from admin where name = $1', [victim.name])).length === 0,
    );
    const kept = await at(other(0)).get<PeerAdminResource>(`/admins/${victim.name}`);
    await victim.start();
    const back = await at(victim).get<PeerAdminResource>(`/admins/${victim.name}`);
    await at(owner).post(`/admins/${victim.name}/resume`);
    await victim.kill();
    await fleet.sql("update admin set last_checked_in = last_checked_in - interval '2 hours' where name = $1", [
      victim.name,
    ]);
    await until('it to be forgotten', async () => (await status()) === undefined);
    const everywhere = await Promise.all([
      edge(owner, 'admin', 'ls', '-q').then(({ stdout }) => stdout),
      at(owner)
        .call('GET', '/admins/admin_clusters')
        .then(({ text }) => text),
      at(owner)
        .call('GET', '/admins/my_admin_cluster')
        .then(({ text }) => text),
    ]);

    t.is(link, null);
    t.deepEqual(gone, ['gone', `edge: ${victim.name} takes clusters again when it is back (it is gone)\n`]);
    t.like(kept, { status: 'gone', version: null, url: null, link: null, room: 0 });
    t.true(kept.draining_since !== null && kept.status_since !== null);
    t.like(back, { status: 'draining', cluster_count: 0 });
    for (const text of everywhere) t.false(text.includes(victim.name), text);
  },
);

// The last one: the owner may be among those that drain for a moment.
test.serial(
  'what cannot be drained is refused with a reason: a name of nobody, and the last that takes clusters',
  async (t) => {
    const unknown = await at(owner).call('POST', '/admins/nobody/drain');
    const both = await Promise.all(
      [...others, owner].map((admin) => at(other()).call('POST', `/admins/${admin.name}/drain`)),
    );
    const left = await Promise.all(fleet.admins.map(({ name }) => drainingSince(name)));
    for (const { name } of fleet.admins) await at(owner).post(`/admins/${name}/resume`);

    t.deepEqual([unknown.status, unknown.error?.message], [404, 'There is no admin of this name or id.']);
    t.deepEqual(both.map(({ status }) => String(status)).toSorted(), ['200', '200', '409']);
    t.deepEqual(
      both.find(({ status }) => status === 409)?.error?.message,
      'No other admin is there to take its clusters: start another one, or let one that drains take clusters again.',
    );
    t.is(left.filter((since) => since === null).length, 1);
  },
);
