/** How a machine leaves, what its doctor says once its node is gone, and a data directory that does not answer. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { AdminDouble, type DoubleHabits } from '../../support/agent/admin-double.ts';
import { AgentFixture, processesOf } from '../../support/agent/agent-fixture.ts';
import { AgentProcess } from '../../support/agent/agent-process.ts';
import { scaled } from '../../support/busy.ts';
import { startFleet } from '../../support/fleet.ts';
import { FREE_PORTS } from '../../support/fleet/agent-program.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { programFile } from '../../support/run/programs.ts';
import { fill, smallDisk } from '../../support/small-disk.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program to its end. */
async function run(words: readonly string[], env: Readonly<Record<string, string>>): Promise<Ran> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [programFile('edge-agent'), ...words], {
      env: { PATH: process.env['PATH'] ?? '', ...FREE_PORTS, ...env },
      timeout: scaled(60_000),
    });
    return { status: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { readonly code: number } & Omit<Ran, 'status'>;
    return { status: code, stdout, stderr };
  }
}

/** A machine that is enrolled at a double, and whose agent does not run. */
async function enrolled(t: ExecutionContext, habits: DoubleHabits = {}) {
  const admin = await AdminDouble.start(habits);
  t.teardown(() => admin.close());
  const settings = { ENROLLMENT_KEY: admin.key(), AGENT_DATA_DIR: join(temporaryDirectory(t), 'data') };
  const agent = AgentProcess.start(t, settings);
  await admin.session();
  agent.terminate();
  await agent.ended();
  return { admin, settings };
}

test('a machine that leaves takes its node away at the admin, and everything on its disk', async (t) => {
  const fleet = await startFleet(t, { agents: 1 });
  const [agent] = fleet.agents;
  if (agent === undefined) throw new Error('there is no agent');
  const { node, dataDirectory } = agent;
  agent.program.terminate();
  await agent.program.ended();

  const env = { AGENT_DATA_DIR: dataDirectory, ADMIN_URLS: fleet.admins[0]?.url ?? '' };
  // where the admin has no time for it nothing was removed, and it is to be told again
  const left = await until('an admin with time for it', async () => {
    const ran = await run(['leave'], env);
    return ran.stderr.includes('so nothing was removed: ') && ran.stderr.includes(' answered 503') ? null : ran;
  });

  t.is(left.status, 0, left.stderr);
  t.regex(left.stderr, /This machine has left\. Its node was removed at the admin/u);
  t.is((await settledAnswer(() => fleet.rest.call('GET', `/nodes/${node}`))).status, 404);
  t.deepEqual(readdirSync(dataDirectory), []);
});

test('where no admin can be told nothing is touched, unless it is only this machine that is meant', async (t) => {
  const { admin, settings } = await enrolled(t, { removes: 503 });
  const kept = readdirSync(settings.AGENT_DATA_DIR).toSorted();

  const busy = await run(['leave'], settings);
  await admin.close();
  const away = await run(['leave'], settings);
  t.deepEqual(
    readdirSync(settings.AGENT_DATA_DIR)
      .filter((name) => !['code-cache', 'lock'].includes(name))
      .toSorted(),
    kept.filter((name) => !['code-cache', 'lock'].includes(name)),
  );
  const local = await run(['leave', '--local'], settings);

  t.deepEqual(admin.removals, ['Bearer token-of-the-node']);
  t.is(busy.status, 1);
  t.regex(
    busy.stderr,
    /^edge-agent: No admin could be told that this machine leaves, so nothing was removed: \S+ answered 503\. .*`edge-agent leave --local` leaves the node there/u,
  );
  t.is(away.status, 1);
  t.regex(away.stderr, /nothing was removed: \S+: connection refused\./u);
  t.is(local.status, 0, local.stderr);
  t.regex(local.stderr, /The node stays at the admin: `edge node rm` removes it there/u);
  t.deepEqual(readdirSync(settings.AGENT_DATA_DIR), []);
});

test('a node that no admin knows, and an older admin, hold nobody up', async (t) => {
  const gone = await enrolled(t, { removes: 401 });
  const older = await enrolled(t);

  const [one, two] = [await run(['leave'], gone.settings), await run(['leave'], older.settings)];

  t.regex(one.stderr, /This machine has left\. No admin knew its node any more/u);
  t.regex(two.stderr, /This machine has left\. The admin is older: `edge node rm` removes the node there/u);
  t.deepEqual([one.status, two.status], [0, 0]);
});

test("what was set aside or not written to its end goes as well; what is mounted there, and others' own, stays", async (t) => {
  const { settings } = await enrolled(t);
  const data = settings.AGENT_DATA_DIR;
  const [served, mounted] = [temporaryDirectory(t), join(data, 'keepers/k/root')];
  writeFileSync(join(served, 'precious'), '');
  for (const name of [
    'journal.db.damaged-2026-01-01',
    'journal.db.damaged-2026-01-01-wal',
    'executions.ledger.damaged-2026-01-01',
    'identity.json.new',
  ])
    writeFileSync(join(data, name), 'a script, an output or a token');
  const own = ['identity.json.backup', 'journal.dbs', 'ssh-host-key-cert.pub', 'ssh-recordings-2026-audit'];
  for (const name of own.slice(0, 3)) writeFileSync(join(data, name), "somebody's own");
  mkdirSync(join(data, 'ssh-recordings-2026-audit'));
  mkdirSync(mounted, { recursive: true });
  const isMounted = spawnSync('mount', ['--bind', served, mounted]).status === 0;

  const left = await run(['leave', '--local'], settings);
  if (isMounted) execFileSync('umount', [mounted]);

  t.is(left.status, 0, left.stderr);
  t.deepEqual(readdirSync(data).toSorted(), (isMounted ? [...own, 'keepers'] : own).toSorted());
  t.deepEqual(readdirSync(served), ['precious']);
  if (isMounted)
    t.regex(left.stderr, /keepers\/k\/root is a mount point.*This stays on the machine, as it cannot be removed/u);
});

test('an identity that cannot be removed is what leaving ends with, and all else goes', async (t) => {
  const { settings } = await enrolled(t);
  const data = settings.AGENT_DATA_DIR;
  const identity = join(data, 'identity.json');
  if (spawnSync('mount', ['--bind', identity, identity]).status !== 0) {
    t.pass('only root mounts');
    return;
  }

  const left = await run(['leave', '--local'], settings);
  execFileSync('umount', [identity]);

  t.is(left.status, 1);
  t.regex(left.stderr.trimEnd().split('\n').at(-1) ?? '', /^edge-agent: .*identity\.json is a mount point/u);
  t.notRegex(left.stderr, /This machine has left/u);
  t.deepEqual(readdirSync(data), ['identity.json', 'lock']);
});

test('on a full disk a machine leaves all the same, and what ran on it is ended', async (t) => {
  const disk = smallDisk(t, 8_192);
  if (disk === null) {
    t.pass('not tried: this user cannot mount a disk');
    return;
  }
  const { fixture, session } = await AgentFixture.open(t, {}, { AGENT_DATA_DIR: join(disk, 'data') });
  const execution = await fixture.taken(session, 'sleep 1000');
  await until('its process', () => processesOf(execution).length > 0);
  await fixture.kill();
  const journal = new DatabaseSync(join(disk, 'data/journal.db'));
  journal.exec('PRAGMA wal_checkpoint');
  journal.close(); // takes its log away, in which there was room for the end
  fill(disk);

  const left = await run(['leave', '--local'], { AGENT_DATA_DIR: join(disk, 'data') });

  t.is(left.status, 0, left.stderr);
  t.regex(left.stderr, /This machine has left/u);
  t.deepEqual(readdirSync(join(disk, 'data')), []);
  t.deepEqual(processesOf(execution), []);
});

test('a node that was deleted while its machine was off is told by the doctor', async (t) => {
  const fleet = await startFleet(t, { agents: 1 });
  const [agent] = fleet.agents;
  if (agent === undefined) throw new Error('there is no agent');
  await agent.kill();
  const env = { AGENT_DATA_DIR: agent.dataDirectory, ADMIN_URLS: fleet.admins[0]?.url ?? '' };
  const before = await run(['doctor'], env);
  await settledAnswer(() => fleet.rest.call('DELETE', `/nodes/${agent.node}`));

  const after = await run(['doctor'], env);

  t.regex(before.stdout, /FAIL +agent +No agent runs on this machine, though it is enrolled\./u);
  t.regex(
    after.stdout,
    /FAIL +agent +No agent runs on this machine, and its node was deleted at the admin\..*\n +-> `edge-agent leave` and a new ENROLLMENT_KEY/u,
  );
});

test('a data directory that cannot be made is one line, also where making it goes on for ever', async (t) => {
  const below = await run(['up'], { AGENT_DATA_DIR: '/proc/x/y' });

  t.is(below.status, 1);
  t.regex(below.stderr, /^edge-agent: AGENT_DATA_DIR \/proc\/x\/y cannot be used: .*ENOENT/u);
  t.false(existsSync('/proc/x'));
});

test('a disk that does not answer keeps no agent from being ended', async (t) => {
  const data = join(temporaryDirectory(t), 'data');
  mkdirSync(data, { mode: 0o700 });
  execFileSync('mkfifo', [join(data, 'identity.json')]); // whoever opens it waits for a writer: as on a mount that hangs
  const agent = AgentProcess.start(t, { AGENT_DATA_DIR: data });
  while (!existsSync(join(data, 'agent.pid'))) await new Promise((resolve) => setTimeout(resolve, 20));

  agent.terminate();

  t.deepEqual(await agent.ended(), { code: null, signal: 'SIGTERM' });
});
