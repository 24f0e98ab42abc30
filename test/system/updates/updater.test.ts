/** An update from a mirror, by the real steps and with a real service: done, or taken back. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { bootstrap } from '../../../agent/updater/commands.ts';
import { wouldBe } from '../../../agent/updater/serve.ts';
import { UpdateProblem } from '../../../agent/updater/problem.ts';
import { linkedVersion } from '../../../agent/updater/versions.ts';
import { createReleases, rotateKey } from '../../support/releases/releases.ts';
import { fill, fillAt, smallDisk } from '../../support/small-disk.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { updaterFixture } from '../../support/updater/fixture.ts';
import { SHORT_TIMES, TIMES } from '../../support/updater/times.ts';
import type { Behaviour } from '../../support/updater/small-agent.ts';
import { until } from '../../support/until.ts';

test('a release is fetched, switched to, watched and kept', async (t) => {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await until('the agent', () => machine.running() === '0.1.0');
  await machine.publish('0.2.0');

  const { outcome, phase } = await machine.update({ request: 'first' });

  t.like(outcome, { request: 'first', outcome: 'updated', from: '0.1.0', to: '0.2.0', error: null });
  t.is(phase.step, 'idle');
  t.is(machine.current(), '0.2.0');
  t.is(machine.running(), '0.2.0');
  t.false(existsSync(join(machine.dataDirectory, 'updating.json')));
});

test('a root that neither signed the trusted one nor is signed by it is refused, and one of its chain changes nothing', async (t) => {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  const place = temporaryDirectory(t);
  const stranger = await createReleases(join(place, 'stranger'));
  await rotateKey(machine.releases, 'root.pem');
  const trusted = () => readFileSync(join(machine.layout.trust, 'root.json'), 'utf8');
  const give = (root: string) => {
    writeFileSync(join(place, 'root.json'), root);
    return bootstrap(machine.parts(), join(place, 'root.json'));
  };
  const [first = '', second = ''] = machine.releases.repository.roots();

  const same = await give(first);
  const newer = await give(second);
  const other = await t.throwsAsync(give(stranger.root), { instanceOf: UpdateProblem });

  t.deepEqual([same, newer], ['0.1.0', '0.1.0']);
  t.regex(
    other?.message ?? '',
    /root\.json is another root, which .* stays trusted: remove \S+trust to trust this one instead$/u,
  );
  t.is(trusted(), first);
  await machine.update();
  t.is(trusted(), second);
  t.is(await give(first), '0.1.0', 'an older one of its chain');
});

const BROKEN: readonly (readonly [Behaviour, RegExp])[] = [
  ['crashes', /it started \d times within 30 s, so it crashes\nIts log ended with:[^]*it crashes/u],
  ['hangs', /not well within [\d.]+ s: the agent did not say how it is/u],
  ['not-connected', /not well within [\d.]+ s: the agent is not connected to an admin/u],
  ['ill', /not well within [\d.]+ s: a service of the agent has a problem: ssh: the port is taken/u],
];

for (const [behaviour, reason] of BROKEN)
  test(`a version that ${behaviour} is taken back, and says why`, async (t) => {
    const machine = await updaterFixture(t);
    await machine.publish('0.1.0');
    await machine.install();
    await machine.publish('0.2.0', behaviour);

    const { outcome, refused } = await machine.update(
      { request: 'first' },
      { times: behaviour === 'crashes' ? TIMES : SHORT_TIMES },
    );

    t.like(outcome, { request: 'first', outcome: 'rolled_back', from: '0.1.0', to: '0.2.0' });
    t.regex(outcome?.error ?? '', reason);
    t.is(refused?.version, '0.2.0');
    t.is(machine.current(), '0.1.0');
    await until('the version before', () => machine.running() === '0.1.0');
  });

test('a version that does not pass its own check is never switched to', async (t) => {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await machine.publish('0.2.0', 'refuses');

  const refuses = await machine.update();
  await machine.publish('0.3.0', 'other-version');
  const other = await machine.update();

  t.like(refuses.outcome, { outcome: 'unchanged', from: '0.1.0', to: '0.2.0' });
  t.regex(refuses.outcome?.error ?? '', /does not pass its check \(check\): the journal is of a later version/u);
  t.regex(other.outcome?.error ?? '', /the edge-agent.cjs of the release 0.3.0 calls itself "9.9.9"/u);
  t.is(machine.agent.starts, 1);
});

test('a version that was taken back is tried again only when somebody asks for it', async (t) => {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await machine.publish('0.2.0', 'crashes');
  const first = await machine.update({ by: 'timer' });
  await until('the version before', () => machine.running() === '0.1.0');
  const { starts } = machine.agent;

  const timer = await machine.update({ by: 'timer' });
  const hand = await machine.update({ by: 'hand' });
  const untouched = machine.agent.starts === starts;
  const forced = await machine.update({ by: 'hand', force: true });
  const request = await machine.update({ by: 'request', request: 'second' });
  await machine.publish('0.3.0');
  const next = await machine.update({ by: 'timer' });

  t.deepEqual(
    [first, timer, hand, forced, request, next].map(({ outcome }) => outcome?.outcome),
    ['rolled_back', 'unchanged', 'unchanged', 'rolled_back', 'rolled_back', 'updated'],
  );
  t.true(untouched);
  t.regex(
    hand.outcome?.error ?? '',
    /0\.2\.0 was taken back on .*: it started .* To try it again: edge-updater update --force$/su,
  );
});

test('only the versions that are needed stay, with their runtimes', async (t) => {
  const machine = await updaterFixture(t);
  const { layout } = machine;
  await machine.publish('0.1.0');
  await machine.install();
  for (const version of ['0.2.0', '0.3.0', '0.4.0']) {
    await machine.publish(version);
    const { outcome } = await machine.update();
    t.is(outcome?.outcome, 'updated', outcome?.error ?? '');
  }
  const kept = () => readdirSync(layout.versions).map((name) => name.slice(0, 5));

  t.deepEqual(kept(), ['0.3.0', '0.4.0']);
  t.is(readdirSync(layout.runtimes).length, 1);
  t.deepEqual(readdirSync(layout.downloads), []);
  await machine.publish('0.5.0', 'crashes');
  const { outcome } = await machine.update();

  t.is(outcome?.outcome, 'rolled_back');
  t.deepEqual(kept(), ['0.3.0', '0.4.0'], 'the version before is that of before');
  t.is(linkedVersion(layout, layout.previous)?.version, '0.3.0');
});

test('damaged files of the version that runs are fetched again, and it is restarted', async (t) => {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await until('the agent', () => machine.running() === '0.1.0');
  const files = [join(machine.layout.current, 'edge-agent.cjs'), join(machine.layout.current, 'runtime', 'node')];
  for (const file of files) writeFileSync(file, Buffer.alloc(statSync(file).size));

  const repaired = await machine.update({ by: 'timer' });
  const again = await machine.update({ by: 'timer' });

  t.like(repaired.outcome, { outcome: 'updated', from: '0.1.0', to: '0.1.0', error: null });
  t.like(again.outcome, { outcome: 'unchanged', error: null });
  await until('the agent', () => machine.running() === '0.1.0');
});

test('a disk without room is told before anything is fetched, and one that fills up changes nothing', async (t) => {
  const disk = smallDisk(t, 20 * 1_024);
  if (disk === null) {
    t.pass('no mounts here');
    return;
  }
  const machine = await updaterFixture(t, join(disk, 'updater'));
  await machine.publish('0.1.0');
  await machine.install();
  await machine.publish('0.2.0');
  machine.mirror.requests.splice(0);
  const free = fill(disk, 200_000);

  const full = await machine.update();
  const files = machine.mirror.requests.filter(({ path }) => path.includes('/files/'));
  free();
  const { outcome } = await machine.update();

  t.like(full.outcome, { outcome: 'unchanged', to: '0.2.0' });
  t.regex(full.outcome?.error ?? '', /updater has \d+ MiB free, and the release needs 1\d MiB/u);
  t.deepEqual(files, []);
  t.is(outcome?.outcome, 'updated', outcome?.error ?? '');
});

test('an updater that cannot announce a restart to the agent switches nothing, and still rolls a bad version back', async (t) => {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await until('the agent', () => machine.running() === '0.1.0');
  await machine.publish('0.2.0', 'not-connected');
  const news = join(machine.dataDirectory, 'updating.json.new');
  const makeRoom = fillAt(news);

  const untold = await machine.update();
  const { starts } = machine.agent;
  makeRoom();
  const update = machine.update({}, { times: SHORT_TIMES });
  await until('the new version', () => machine.running() === '0.2.0');
  fillAt(news);
  const { outcome } = await update;

  t.like(untold.outcome, { outcome: 'unchanged', from: '0.1.0', to: '0.2.0' });
  t.regex(untold.outcome?.error ?? '', /the agent cannot be told of the update: .*(?:no space|disk is full)/iu);
  t.is(untold.refused, null);
  t.is(starts, 1);
  t.is(outcome?.outcome, 'rolled_back', outcome?.error ?? '');
  await until('the version before', () => machine.running() === '0.1.0');
});

test('where the data directory of the agent cannot be written to, an update is left before it begins, and a look says so', async (t) => {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await machine.publish('0.2.0');
  const inTheWay = join(temporaryDirectory(t), 'file');
  writeFileSync(inTheWay, '');
  const closed = join(inTheWay, 'agent');
  const config = { ...machine.parts().config, UPDATER_AGENT_DATA_DIR: closed };

  const look = await wouldBe(machine.parts({ config }));
  const { outcome, phase } = await machine.update({}, { config });

  const reason = `the agent cannot be told of the update: ${closed}: a file is in the way`;
  t.like(look, { would: 'nothing', available: '0.2.0', reason });
  t.like(outcome, { outcome: 'unchanged', from: '0.1.0', to: '0.2.0', error: reason });
  t.is(phase.step, 'idle');
  t.is(machine.current(), '0.1.0');
});

test('two updates at once are one: the second is told who is at it', async (t) => {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await machine.publish('0.2.0');
  const first = machine.update();

  const error = await t.throwsAsync(machine.update());

  t.regex(error?.message ?? '', /another update runs \(process \d+, since .*\): wait for its end/u);
  t.is((await first).outcome?.outcome, 'updated');
});
