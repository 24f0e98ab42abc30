/** What the updater believes of mirrors, and what it gets out of them: nothing that was not signed, nothing older. */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { outcomeText, pin } from '../../../agent/updater/commands.ts';
import { wouldBe } from '../../../agent/updater/serve.ts';
import { signTargets, VALIDITY } from '../../../cli/release/signing.ts';
import { listening } from '../../support/net/listening.ts';
import { mirrorReleases } from '../../support/releases/release-mirror.ts';
import { createReleases, forge, rotateKey } from '../../support/releases/releases.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { outdatedFixture, type UpdaterFixture } from '../../support/updater/fixture.ts';

const DAY_MS = 86_400_000;

interface Root {
  readonly signed: { readonly version: number };
}

/** The error of an update that changed nothing. */
async function refusal(t: ExecutionContext, machine: UpdaterFixture, nowMs = Date.now()): Promise<string> {
  const { outcome } = await machine.update({}, { nowMs: () => nowMs });
  t.is(outcome?.outcome, 'unchanged', outcome?.error ?? '');
  t.is(machine.current(), '0.1.0');
  return outcome?.error ?? '';
}

test('forged, replayed and expired metadata is refused, and what is trusted stays', async (t) => {
  const machine = await outdatedFixture(t);
  const { releases } = machine;
  const older = releases.snapshot();
  const root = readFileSync(join(machine.layout.trust, 'root.json'), 'utf8');

  await releases.sign({ nowMs: Date.now() - 40 * DAY_MS });
  t.regex(
    await refusal(t, machine),
    /^this machine's clock says 20\d\d-\S+Z, but the timestamp\.json of http:\S+ expired at 20\d\d-\S+: set the clock, or have new metadata signed$/u,
  );
  forge(releases.repository, 'timestamp.json');
  t.regex(await refusal(t, machine), /signed by 0\/1 keys/u);
  await releases.sign();
  machine.mirror.behave((path) => (path.startsWith('targets/files/') ? 'missing' : 'ok'));
  t.regex(await refusal(t, machine), /answered 404/u, 'what was signed is known from now on');
  machine.mirror.behave(() => 'ok');
  releases.restore(older);
  t.regex(await refusal(t, machine), /less than current version/u);
  t.is(readFileSync(join(machine.layout.trust, 'root.json'), 'utf8'), root);
});

test('what an update would do is looked at beside one, and nothing is kept of it', async (t) => {
  const machine = await outdatedFixture(t);
  const timestamp = () => readFileSync(join(machine.layout.trust, 'timestamp.json'), 'utf8');
  const before = timestamp();

  t.like(await wouldBe(machine.parts()), { would: 'update', available: '0.2.0' });
  t.is(timestamp(), before);
  const [{ outcome }, ...looks] = await Promise.all([
    machine.update(),
    ...Array.from({ length: 3 }, () => wouldBe(machine.parts())),
  ]);

  t.is(outcome?.outcome, 'updated', outcome?.error ?? '');
  t.true(looks.every((look) => 'available' in look && look.available === '0.2.0'));
  t.not(timestamp(), before);
});

test('a clock that is years behind is told, with both times', async (t) => {
  const machine = await outdatedFixture(t);

  t.regex(
    await refusal(t, machine, Date.parse('2001-01-01T00:00:00Z')),
    /^this machine's clock says 2001-01-01T00:00:00\.000Z, but the release 0\.2\.0 was made at 20\d\d-\S+: set the clock/u,
  );
});

test('an older release is nothing newer: it is installed by a signed word alone', async (t) => {
  const machine = await outdatedFixture(t);
  await machine.update();
  const promote = async (allowDowngrade: boolean) => {
    const path = 'channels/stable/linux-x64.json';
    const { allow_downgrade: _, ...older } = machine.releases.repository.describe('releases/0.1.0/linux-x64.json');
    machine.releases.repository.writeDescription(path, { ...older, ...(allowDowngrade && { allow_downgrade: true }) });
    await machine.releases.sign();
  };

  await promote(false);
  const left = await machine.update({ force: true });
  const look = await wouldBe(machine.parts());
  pin(machine.parts(), '0.1.0');
  const pinned = await machine.update();
  pin(machine.parts(), null);
  await promote(true);
  const allowed = await machine.update();

  const reason = '0.1.0 is older than 0.2.0, and nobody signed that machines go back to it';
  t.like(left.outcome, { outcome: 'unchanged', from: '0.2.0', to: '0.1.0', error: null });
  t.is(left.outcome && outcomeText(left.outcome), 'nothing was newer: the channel names 0.1.0, and 0.2.0 runs');
  t.like(look, { would: 'nothing', reason });
  t.like(pinned.outcome, { outcome: 'unchanged', error: reason }, 'somebody wants that one here');
  t.like(allowed.outcome, { outcome: 'updated', from: '0.2.0', to: '0.1.0' });
});

test('mirrors are asked in turn: garbage, silence and errors of one lead to the next', async (t) => {
  const machine = await outdatedFixture(t);
  const bad = await mirrorReleases(t, machine.releases.directory);
  const config = { ...machine.parts().config, UPDATER_MIRRORS: ['http://127.0.0.1:9', bad.url, machine.mirror.url] };
  bad.behave((path) => (path.startsWith('targets/files/') ? 'garbage' : 'ok'));

  const { outcome } = await machine.update({}, { config });

  t.like(outcome, { outcome: 'updated', to: '0.2.0' });
  t.true(bad.requests.some(({ path }) => path.includes('/files/')));
});

test('a connection that breaks is gone on with where it broke', async (t) => {
  const machine = await outdatedFixture(t);
  let cuts = 0;
  machine.mirror.behave((path) => (path.startsWith('targets/files/') && ++cuts % 3 !== 0 ? 'cut' : 'ok'));

  const { outcome } = await machine.update();

  t.is(outcome?.outcome, 'updated', outcome?.error ?? '');
  t.true(machine.mirror.requests.some(({ range }) => /^bytes=[1-9]\d*-$/u.test(range ?? '')));
});

test('what an update fetched before it failed is not fetched again', async (t) => {
  const machine = await outdatedFixture(t);
  const { files } = machine.releases.repository.describe('releases/0.2.0/linux-x64.json');
  const [first, second] = ['edge-agent.cjs', 'edge-updater.cjs'].map(
    (name) => `/releases/targets/files/${files.find((file) => file.name === name)?.sha256}.gz`,
  );
  machine.mirror.behave((path) => (second?.endsWith(path) === true ? 'missing' : 'ok'));

  const failed = await machine.update();
  machine.mirror.behave(() => 'ok');
  const { outcome } = await machine.update();

  t.regex(failed.outcome?.error ?? '', /edge-updater\.cjs could not be fetched: http:\S+ answered 404/u);
  t.is(outcome?.outcome, 'updated', outcome?.error ?? '');
  t.deepEqual(
    [first, second].map((file) => machine.mirror.requests.filter(({ path }) => path === file).length),
    [1, 2],
  );
});

test('bytes of somebody else in an interrupted download are thrown away, also without Range', async (t) => {
  for (const fault of ['ok', 'no-range'] as const) {
    const machine = await outdatedFixture(t);
    machine.mirror.behave(() => fault);
    const { files } = machine.releases.repository.describe('releases/0.2.0/linux-x64.json');
    for (const file of files) writeFileSync(join(machine.layout.downloads, `${file.packed_sha256}.part`), 'garbage');

    const { outcome } = await machine.update();

    t.is(outcome?.outcome, 'updated', outcome?.error ?? '');
  }
});

test('mirrors that are slow, endless, silent or have no first byte are given up', async (t) => {
  const machine = await outdatedFixture(t);
  const sizes = machine.releases.repository
    .describe('releases/0.2.0/linux-x64.json')
    .files.map((file) => file.packed_bytes);
  const behaviours = {
    slow: /sends less than 1024 bytes a second/u,
    endless: /sends more than the \d+ bytes it should/u,
    silent: /did not answer within 0\.5 s/u,
    unwilling: /answered 416/u,
  };
  for (const [behaviour, told] of Object.entries(behaviours)) {
    const server = createServer((request, response) => {
      const file = join(machine.releases.directory, (request.url ?? '').replace('/releases/', ''));
      const isFile = file.includes('/targets/files/');
      const size = statSync(file, { throwIfNoEntry: false })?.size;
      if (size === undefined) response.writeHead(404).end();
      else if (!isFile) response.end(readFileSync(file));
      else if (behaviour === 'slow') response.write('x');
      else if (behaviour === 'unwilling') response.writeHead(416).end();
      else if (behaviour === 'endless') response.end(Buffer.alloc(Math.max(...sizes) + 100_000));
    });
    const url = `http://127.0.0.1:${await listening(t, server)}`;
    const before = machine.parts();
    const shortened = { slow: { slowWindowMs: 500 }, silent: { answerMsMax: 500 } }[behaviour];
    const options = { ...before.options, ...shortened };
    const { outcome } = await machine.update({}, { config: { ...before.config, UPDATER_MIRRORS: [url] }, options });

    t.regex(outcome?.error ?? '', told);
    server.closeAllConnections();
  }
});

test('a root that nobody who counts signed is not followed, nor one twice', async (t) => {
  const machine = await outdatedFixture(t);
  const metadata = join(machine.releases.directory, 'metadata');
  const next = join(metadata, '2.root.json');
  const stranger = await createReleases(temporaryDirectory(t));
  await rotateKey(stranger, 'root.pem');

  writeFileSync(next, readFileSync(join(metadata, '1.root.json')));
  t.regex(await refusal(t, machine), /Expected version 2, got 1/u);
  writeFileSync(next, readFileSync(join(stranger.directory, 'metadata', '2.root.json')));
  t.regex(await refusal(t, machine), /root was signed by 0\/1 keys/u);
  rmSync(next);
  t.like((await machine.update()).outcome, { outcome: 'updated', to: '0.2.0' });
});

test('a machine that slept over several changes of keys follows them root by root, and retired keys count no more', async (t) => {
  const machine = await outdatedFixture(t);
  const { releases } = machine;
  const before = releases.repository.state();
  await rotateKey(releases, 'release.pem');
  await rotateKey(releases, 'root.pem');
  await rotateKey(releases, 'timestamp.pem');
  const trusted = () =>
    (JSON.parse(readFileSync(join(machine.layout.trust, 'root.json'), 'utf8')) as Root).signed.version;
  t.is(trusted(), 1);

  const { outcome } = await machine.update();

  t.like(outcome, { outcome: 'updated', from: '0.1.0', to: '0.2.0' });
  t.is(trusted(), 4);
  // whoever has the retired keys, and any mirror, signs for the root of before
  const stolen = signTargets(
    { ...releases.repository.state(), root: before.root },
    await releases.repository.targets(),
    releases.keys,
    { nowMs: Date.now(), validity: VALIDITY },
  );
  releases.repository.writeSigned(stolen);
  const { outcome: refused } = await machine.update();
  t.regex(refused?.error ?? '', /timestamp was signed by 0\/1 keys/u);
  t.deepEqual([machine.current(), trusted()], ['0.2.0', 4]);
});
