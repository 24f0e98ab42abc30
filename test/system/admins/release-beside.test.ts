/**
 * Two releases side by side on one database, with agents of both: commands at both, live output at both, takeovers and
 * hand-overs both ways, an owner that wakes too late, and the order of a rolling upgrade.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { AdminClusterResource } from '../../../actors/resources/admin.ts';
import type { CommandResource, ExecutionResource } from '../../../actors/resources/command.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { tailedAt } from '../../support/api/tail-reader.ts';
import { hangAfter } from '../../support/busy.ts';
import { createDatabase } from '../../support/database/database.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { prepareAdmin, type AdminProgram } from '../../support/fleet/admin-program.ts';
import { prepareAgent } from '../../support/fleet/agent-program.ts';
import { COMMIT_BEFORE, RELEASE_BEFORE, releaseAt, releaseTest, type Release } from '../../support/fleet/release.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { urlOf } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';

/**
 * Commits that stand for releases, since there are none yet: the last one whose admins do not call each other, the last
 * one whose admins do and hand nothing over, one whose admins do all that those of now do, and the one before this,
 * from which no change of what admins say to each other may part them. With the first release its commit takes the
 * place of the first three. Beside each: what an admin answers where the owner is of the other release, how the newer
 * one ends, and whether they hand clusters over to each other and tell each other live output.
 */
const RELEASES = {
  'without calls between admins': {
    commit: 'dcc8d357e41427eeb0b08f2fea9efae3d7d63e36',
    elsewhere: 503,
    ending: 'SIGKILL',
    handsOver: false,
  },
  'with calls and no hand-overs': {
    commit: '5cf0e67e0932d094f4d5103f7c39d9371697e6df',
    elsewhere: 201,
    ending: 'SIGTERM',
    handsOver: false,
  },
  'with hand-overs and live output': {
    commit: RELEASE_BEFORE,
    elsewhere: 201,
    ending: 'SIGTERM',
    handsOver: true,
  },
  'of the commit before': {
    commit: COMMIT_BEFORE,
    elsewhere: 201,
    ending: 'SIGTERM',
    handsOver: true,
  },
} as const;

const TEST_MS_MAX = 240_000;

/** One step on a busy machine, in ms: agents of before take 20 s to see that their admin is silent. */
const WAIT_MS_MAX = 90_000;

/** An admin of before with a cluster, one of now with another, and in each cluster an agent of both. */
async function sideBySide(t: ExecutionContext, release: Release) {
  const connection = await createDatabase(t, { schema: 'empty' });
  const env = {
    ...FLEET_KEYS,
    DATABASE_URL: urlOf(connection),
    DATABASE_POOL_MAX: '10',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  };
  const older = await prepareAdmin(t, 'admin-old', env, undefined, release.program('edge-admin.ts'));
  const newer = await prepareAdmin(t, 'admin-new', env);
  const urls = { ADMIN_URLS: [older.url, newer.url].join(',') };
  const balanced = { ADMIN_BALANCE_AFTER_MS: '1s' }; // it would give half of all away, if the other one could take it
  const start = (admin: AdminProgram) => admin.start({ ...urls, ...balanced, ADMIN_OWN_URL: admin.url });
  await start(older);
  await start(newer); // migrates beneath the other
  const rests = new Map([older, newer].map((admin) => [admin, restClient(() => admin.url, FLEET_KEYS.MASTER_KEY)]));
  const at = (admin: AdminProgram) => rests.get(admin)!;
  for (const [cluster, admin] of [
    ['of-old', older],
    ['of-new', newer],
  ] as const) {
    await at(admin).post('/clusters', { name: cluster });
    const { key } = await at(admin).post<EnrollmentKeyResource>(`/clusters/${cluster}/enrollment_keys`, {
      uses_remaining: 2,
    });
    for (const [name, file] of [
      ['old', release.program('edge-agent.ts')],
      ['new', undefined],
    ] as const)
      prepareAgent(t, join(release.directory, `${cluster}-${name}`), { ...urls, ENROLLMENT_KEY: key }, file).start();
  }
  await until(
    'all nodes to be healthy',
    async () => (await at(newer).get<readonly NodeResource[]>('/nodes?status__in=healthy')).length === AGENTS || null,
    WAIT_MS_MAX,
  );
  return { t, older, newer, start, at, directory: release.directory, ledger: join(release.directory, 'ledger') };
}

const AGENTS = 4;

type SideBySide = Awaited<ReturnType<typeof sideBySide>>;

/** Stores a command for all nodes at this admin. */
function asked({ at, ledger }: SideBySide, admin: AdminProgram): Promise<CommandResource> {
  return at(admin).post<CommandResource>('/commands', {
    command_text: `echo "$EDGE_EXECUTION_ID" >>${ledger}; echo done`,
    targeting: { type: 'all' },
  });
}

/** What came of a command, once it is over, as this admin has it. */
function over({ at }: SideBySide, admin: AdminProgram, { id }: CommandResource): Promise<readonly string[]> {
  return until(
    `the end of a command at ${admin.name}`,
    async () => {
      const found = await at(admin).get<readonly ExecutionResource[]>(`/command_executions?command_id__in=${id}`);
      if (found.some(({ status }) => status === 'pending' || status === 'sent'))
        throw new Error(JSON.stringify(found.map(({ status, cluster_name: cluster }) => [cluster, status])));
      return found.map(({ status, output }) => `${status} ${output ?? ''}`);
    },
    WAIT_MS_MAX,
  );
}

const ALL_DONE = Array.from({ length: AGENTS }, () => 'completed done\n');

/** Gives a node of each cluster an alias, which its owner has to do: the statuses at this admin. */
async function aliased({ at }: SideBySide, admin: AdminProgram): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (const cluster of ['of-old', 'of-new']) {
    const [node] = await at(admin).get<readonly NodeResource[]>(`/nodes?cluster_name=${cluster}`);
    const body = { name: `by-${admin.name}` };
    statuses.push((await at(admin).call('POST', `/nodes/${node?.id}/aliases`, { body })).status);
  }
  return statuses;
}

/** The output of a command on a node of each cluster comes at both admins while it runs, and ends with it. */
async function isToldLive({ t, at, older, newer, directory }: SideBySide): Promise<void> {
  await until('each to own one', async () => {
    const owners = await at(newer).get<Readonly<Record<string, object>>>('/admins/edge_clusters');
    return [older, newer].every(({ name }) => Object.keys(owners[name] ?? {}).length === 1) || null;
  });
  const gate = join(directory, 'gate');
  const nodes = await Promise.all(
    ['of-old', 'of-new'].map((cluster) => at(newer).get<readonly NodeResource[]>(`/nodes?cluster_name=${cluster}`)),
  );
  const { id } = await at(newer).post<CommandResource>('/commands', {
    command_text: `echo first; while [ ! -e ${gate} ]; do sleep 0.1; done; echo last`,
    targeting: { type: 'nodes', node_ids: nodes.map(([node]) => node?.id) },
  });
  const executions = await at(newer).get<readonly ExecutionResource[]>(`/command_executions?command_id__in=${id}`);
  const readers = executions.flatMap((one) => [older, newer].map((admin) => tailedAt(t, admin.url, one.id)));

  await until('the first line of each at both', () => readers.every(({ text }) => text === 'first\n'), WAIT_MS_MAX);
  writeFileSync(gate, '');
  await until('the end of each at both', () => readers.every(({ end }) => end !== null), WAIT_MS_MAX);

  t.deepEqual(
    readers.map(({ text, faults, end }) => ({ text, faults, end })),
    Array.from({ length: 4 }, () => ({ text: 'first\nlast\n', faults: [], end: 'completed' })),
  );
}

const HANDED_OVER = 'clusters were handed over to another admin';

/** What an admin said of hand-overs, in all of its runs. */
function saidOfHandOvers({ runs }: AdminProgram): readonly string[] {
  return runs
    .flatMap((run) => run.lines().map((line) => String(line['msg'])))
    .filter((message) => message.includes('handed over'));
}

/** Resolves when this admin owns both clusters, as the one that answers has it. */
function ownsAll({ at }: SideBySide, admin: AdminProgram, answering = admin): Promise<unknown> {
  return until(`${admin.name} to own all`, async () => {
    const owners = await at(answering).get<Readonly<Record<string, object>>>('/admins/edge_clusters');
    return Object.keys(owners[admin.name] ?? {}).length === 2 || null;
  });
}

/** Resolves when this admin has looked at the leases after now: each of its rounds begins with a check-in. */
async function lookedAround({ at }: SideBySide, admin: AdminProgram): Promise<void> {
  const checkedIn = async () => {
    const [group] = await at(admin).get<readonly AdminClusterResource[]>('/admins/admin_clusters');
    return group?.admins.find(({ name }) => name === admin.name)?.last_checked_in;
  };
  for (const time of ['first', 'second']) {
    const before = await checkedIn();
    await until(`the ${time} round of ${admin.name}`, async () => (await checkedIn()) !== before);
  }
}

for (const [name, { commit, elsewhere, ending, handsOver }] of Object.entries(RELEASES))
  releaseTest(commit)(`commands, takeovers, upgrades work beside a release ${name}: no stale write`, async (t) => {
    t.timeout(hangAfter(TEST_MS_MAX));
    const release = await releaseAt(t, commit);
    const fleet = await sideBySide(t, release);
    const { older, newer, start } = fleet;
    const commands = [await asked(fleet, older), await asked(fleet, newer)];
    for (const command of commands) t.deepEqual(await over(fleet, newer, command), ALL_DONE);
    t.deepEqual(await aliased(fleet, older), [201, elsewhere]);
    t.deepEqual(await aliased(fleet, newer), [elsewhere, 201]);
    if (handsOver) await isToldLive(fleet);

    // the one of now takes over from an owner that stands still, and wakes too late
    older.program.pause();
    await ownsAll(fleet, newer);
    const whileFrozen = await asked(fleet, newer);
    older.program.resume();
    await older.program.logged('a cluster is not owned by this admin any more');
    t.deepEqual(await over(fleet, newer, whileFrozen), ALL_DONE);

    // and the one of before from one that ends, which hands nothing to who would not hear of it
    await lookedAround(fleet, newer);
    process.kill(newer.program.pid, ending);
    t.is((await newer.program.ended()).code, ending === 'SIGKILL' ? null : 0);
    await ownsAll(fleet, older);
    const withOlder = await asked(fleet, older);
    t.deepEqual(await over(fleet, older, withOlder), ALL_DONE);

    // the order of an upgrade: one of now comes first, the one of before goes
    await start(newer);
    await lookedAround(fleet, older); // clusters are handed to admins that were seen
    older.program.terminate();
    const whileStopping = await asked(fleet, newer);
    t.is((await older.program.ended()).code, 0);
    await ownsAll(fleet, newer);
    t.deepEqual(await over(fleet, newer, whileStopping), ALL_DONE);

    const starts = readFileSync(fleet.ledger, 'utf8').trim().split('\n');
    t.is(starts.length, AGENTS * (commands.length + 3));
    t.is(new Set(starts).size, starts.length, 'nothing ran twice');
    if (!handsOver) t.deepEqual(saidOfHandOvers(newer), []);
    else for (const admin of [older, newer]) t.true(saidOfHandOvers(admin).includes(HANDED_OVER), admin.name);
    for (const admin of [older, newer])
      t.deepEqual(
        admin.runs.flatMap((run) => run.lines().filter(({ level }) => level === 'error')),
        [],
      );
  });
