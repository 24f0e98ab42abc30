import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import test from 'ava';
import { generateKey, makeKeys, readKeys } from '../../../../cli/release/keys.ts';
import { packFile } from '../../../../cli/release/packing.ts';
import { planOf, promote, removeRelease } from '../../../../cli/release/releases.ts';
import { rotate } from '../../../../cli/release/rotation.ts';
import { Repository } from '../../../../cli/release/repository.ts';
import { signRoot, VALIDITY } from '../../../../cli/release/signing.ts';
import { fileTarget } from '../../../../transport/protocol/releases.ts';
import { believe, readTrusted } from '../../../../transport/releases/repository/trust.ts';
import { createReleases } from '../../../support/releases/releases.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const NOW_MS = Date.UTC(2026, 10, 23);
const DAY_MS = 86_400_000;
const nobodyAsks = () => Promise.reject(new Error('nobody is asked'));

test('keys are files that only their owner reads, and are never replaced', async (t) => {
  const directory = join(temporaryDirectory(t), 'keys');

  const made = makeKeys(directory, { rootKeys: 2, passphrase: null });
  const before = readFileSync(join(directory, 'release.pem'), 'utf8');

  t.deepEqual(made, ['root-1.pem', 'root-2.pem', 'release.pem', 'timestamp.pem']);
  t.is(statSync(join(directory, 'root-1.pem')).mode & 0o777, 0o600);
  t.deepEqual(makeKeys(directory, { rootKeys: 2, passphrase: null }), []);
  t.throws(() => generateKey(directory, 'release.pem').save(null), { message: /is there already/u });
  t.is(readFileSync(join(directory, 'release.pem'), 'utf8'), before);
  t.is((await readKeys(directory, nobodyAsks)).length, 4);
});

test('a key with a passphrase opens with it and with nothing else', async (t) => {
  const directory = temporaryDirectory(t);
  makeKeys(directory, { rootKeys: 1, passphrase: 'correct horse' });

  const keys = await readKeys(directory, () => Promise.resolve('correct horse'));

  t.is(keys.length, 3);
  t.regex(readFileSync(join(directory, 'root.pem'), 'utf8'), /ENCRYPTED PRIVATE KEY/u);
  await t.throwsAsync(
    readKeys(directory, () => Promise.resolve('wrong')),
    { message: /passphrase does not open/u },
  );
});

test('what is signed is believed, and says when its first part ends', async (t) => {
  const releases = await createReleases(temporaryDirectory(t), { nowMs: NOW_MS });
  await releases.add({ version: '0.2.0' });
  await releases.promote('0.2.0');

  const believed = believe(releases.repository.metadata(), null, NOW_MS);

  t.deepEqual(believed.versions, { root: 1, timestamp: 3, snapshot: 3, targets: 3 });
  t.is(believed.expiresFirst, 'timestamp');
  t.is(believed.expiresAtMs, NOW_MS + 30 * DAY_MS);
  t.deepEqual(
    believed.targets.map(({ path }) => path).filter((path) => !path.startsWith('files/')),
    ['channels/stable/linux-x64.json', 'releases/0.2.0/linux-x64.json'],
  );
});

test('the same file is packed to the same bytes', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'agent'), 'x'.repeat(100_000));
  const [one, other] = [new Repository(join(directory, 'a')), new Repository(join(directory, 'b'))];

  const packed = await packFile(one, 'edge-agent.cjs', join(directory, 'agent'));

  t.deepEqual(await packFile(other, 'edge-agent.cjs', join(directory, 'agent')), packed);
  const header = readFileSync(one.pathOf(`files/${packed.sha256}.gz`)).subarray(0, 8);
  t.deepEqual([...header], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0], 'no name and no time');
});

test('a replay, another root and metadata out of date are refused', async (t) => {
  const releases = await createReleases(temporaryDirectory(t), { nowMs: NOW_MS });
  const older = releases.repository.metadata();
  await releases.add({ version: '0.2.0' });
  const newer = releases.repository.metadata();
  const stranger = (await createReleases(temporaryDirectory(t), { nowMs: NOW_MS })).repository.metadata();
  const trusted = { ...newer, root: releases.root };

  t.throws(() => believe(older, trusted, NOW_MS), { message: /version 1, and version 2 was published already/u });
  t.throws(() => believe(stranger, trusted, NOW_MS), { message: /another one than the root that is trusted/u });
  t.throws(() => believe(newer, trusted, NOW_MS + 31 * DAY_MS), { message: /timestamp\.json is out of date/u });
  t.throws(() => believe({ ...newer, targets: older.targets }, trusted, NOW_MS), {
    message: /targets\.json is version 1/u,
  });
  t.notThrows(() => believe(newer, trusted, NOW_MS));
});

test('a root is changed by the keys of the one before, as many as it asks for', async (t) => {
  const directory = temporaryDirectory(t);
  const releases = await createReleases(directory, { nowMs: NOW_MS, rootKeys: 3, threshold: 2 });
  const time = { nowMs: NOW_MS, validity: VALIDITY };
  const others = join(directory, 'others');
  makeKeys(others, { rootKeys: 1, passphrase: null });
  const strangers = await readKeys(others, nobodyAsks);
  const few = releases.keys.filter(({ file }) => !/root-[23]/u.test(file));
  const next = signRoot(releases.root, planOf(releases.keys, 1), releases.keys, time);

  t.is(believe({ ...releases.repository.metadata(), roots: [releases.root, next] }, null, NOW_MS).versions.root, 2);
  t.throws(() => signRoot(releases.root, planOf(few, 1), few, time), { message: /signed by 2 of the 3 root keys/u });
  t.throws(() => signRoot(releases.root, planOf(strangers, 1), strangers, time), { message: /the root before it/u });
  const foreign = signRoot(null, planOf(strangers, 1), strangers, time).replace('"version":1', '"version":2');
  t.throws(() => believe({ ...releases.repository.metadata(), roots: [releases.root, foreign] }, null, NOW_MS), {
    message: /2\.root\.json is not signed/u,
  });
});

test('a key that is retired counts no more, also after the next rotation', async (t) => {
  const directory = temporaryDirectory(t);
  const { repository } = await createReleases(directory, { nowMs: NOW_MS });
  const rotation = { directory: join(directory, 'keys'), threshold: null, passphrase: nobodyAsks, newPassphrase: null };
  const time = { nowMs: NOW_MS, validity: VALIDITY };

  const first = await rotate(repository, { ...rotation, retire: ['release.pem'] }, time);
  await rotate(repository, { ...rotation, retire: [] }, time);

  t.deepEqual(first, { made: ['release-2.pem'], version: 2 });
  const { signed } = JSON.parse(repository.state().root) as { signed: { roles: { targets: { keyids: string[] } } } };
  t.is(signed.roles.targets.keyids.length, 1);
  t.is(believe(repository.metadata(), null, NOW_MS).versions.root, 3);
});

test('a key that is named twice, by its file and by its id, is replaced by one', async (t) => {
  const directory = temporaryDirectory(t);
  const { repository } = await createReleases(directory, { nowMs: NOW_MS });
  const keys = join(directory, 'keys');
  const id = (await readKeys(keys, nobodyAsks)).find(({ file }) => file.endsWith('/root.pem'))?.key.keyID ?? '';
  const rotation = { directory: keys, threshold: null, passphrase: nobodyAsks, newPassphrase: null };

  const retire = ['root.pem', id.slice(0, 8), 'root.pem'];
  const { made } = await rotate(repository, { ...rotation, retire }, { nowMs: NOW_MS, validity: VALIDITY });

  t.deepEqual(made, ['root-2.pem']);
  const { signed } = JSON.parse(repository.state().root) as { signed: { roles: { root: { keyids: string[] } } } };
  t.is(signed.roles.root.keyids.length, 1);
});

test('a root names keys whose files are elsewhere until they are retired, by their ids', async (t) => {
  const directory = temporaryDirectory(t);
  const { repository } = await createReleases(directory, { nowMs: NOW_MS, rootKeys: 3, threshold: 2 });
  const keys = join(directory, 'keys');
  const rotation = { directory: keys, threshold: null, passphrase: nobodyAsks, newPassphrase: null };
  const time = { nowMs: NOW_MS, validity: VALIDITY };
  const rootKeys = () => {
    const { signed } = JSON.parse(repository.state().root) as { signed: { roles: { root: { keyids: string[] } } } };
    return signed.roles.root.keyids;
  };
  const first = rootKeys();
  renameSync(join(keys, 'root-3.pem'), join(directory, 'of-carol.pem'));

  await rotate(repository, { ...rotation, retire: ['release.pem'] }, time);
  t.deepEqual(rootKeys().toSorted(), first.toSorted());
  const here = new Set((await readKeys(keys, nobodyAsks)).map(({ key }) => key.keyID));
  const carols = first.find((id) => !here.has(id)) ?? '';
  await t.throwsAsync(rotate(repository, { ...rotation, retire: ['0123456789'] }, time), {
    message: /^there is no key 0123456789 in \S+keys, and it is no id of one that the root names: root [\da-f]{8}, /u,
  });
  const { made } = await rotate(repository, { ...rotation, retire: [carols.slice(0, 8)] }, time);

  t.deepEqual(made, ['root-4.pem']);
  t.is(rootKeys().length, 3);
  t.false(rootKeys().includes(carols));
  t.is(believe(repository.metadata(), null, NOW_MS).versions.root, 3);
});

test('root keys are replaced where the timestamp key is elsewhere, and a rotation that is refused leaves nothing', async (t) => {
  const directory = temporaryDirectory(t);
  const { repository } = await createReleases(directory, { nowMs: NOW_MS });
  const keys = join(directory, 'keys');
  const rotation = { directory: keys, threshold: null, passphrase: nobodyAsks, newPassphrase: null };
  const time = { nowMs: NOW_MS, validity: VALIDITY };
  renameSync(join(keys, 'timestamp.pem'), join(directory, 'of-the-timer.pem'));

  await rotate(repository, { ...rotation, retire: ['root.pem'] }, time);
  const left = readdirSync(keys);
  await t.throwsAsync(rotate(repository, { ...rotation, retire: ['release.pem'] }, time), {
    message: /no timestamp key is in the directory of keys: bring it, or retire it by its id/u,
  });
  t.deepEqual(readdirSync(keys), left);
  t.is(believe(repository.metadata(), null, NOW_MS).versions.root, 2);
  renameSync(join(directory, 'of-the-timer.pem'), join(keys, 'timestamp.pem'));
  await rotate(repository, { ...rotation, retire: ['release.pem'] }, time);

  t.deepEqual(believe(repository.metadata(), null, NOW_MS).versions, {
    root: 3,
    timestamp: 2,
    snapshot: 2,
    targets: 2,
  });
});

test('a key is retired although what the new root is for cannot be signed', async (t) => {
  const directory = temporaryDirectory(t);
  const { repository, ...releases } = await createReleases(directory);
  const { files } = await releases.add({ version: '0.1.0' });
  const keys = join(directory, 'keys');
  rmSync(repository.pathOf(fileTarget(files[0]?.sha256 ?? '')));
  const rotation = { directory: keys, retire: ['release.pem'], threshold: null, passphrase: nobodyAsks };

  await t.throwsAsync(rotate(repository, { ...rotation, newPassphrase: null }, { nowMs: NOW_MS, validity: VALIDITY }), {
    message: /is missing/u,
  });

  t.is(repository.roots().length, 2);
  t.deepEqual(
    (await readKeys(keys, nobodyAsks)).map(({ file }) => basename(file)),
    ['release-2.pem', 'root.pem', 'timestamp.pem'],
  );
});

test('a channel goes back only when that is said, and says it then', async (t) => {
  const releases = await createReleases(temporaryDirectory(t));
  for (const version of ['0.9.0', '0.10.0']) await releases.add({ version });
  const channel = () => releases.repository.describe('channels/stable/linux-x64.json');
  await releases.promote('0.10.0');

  await t.throwsAsync(releases.promote('0.9.0'), { message: /0\.9\.0 is older: --allow-downgrade/u });
  t.is(channel().version, '0.10.0');
  await releases.promote('0.9.0', { allowDowngrade: true });
  t.like(channel(), { version: '0.9.0', allow_downgrade: true });
  await releases.promote('0.10.0');

  t.is(channel().allow_downgrade, undefined);
});

test('what a channel points to is not taken out, and files of other versions stay', async (t) => {
  const { repository, ...releases } = await createReleases(temporaryDirectory(t));
  for (const version of ['0.1.0', '0.2.0']) await releases.add({ version });
  await releases.promote('0.2.0');

  t.throws(() => removeRelease(repository, '0.2.0'), { message: /the channel stable points to 0\.2\.0/u });
  t.throws(() => promote(repository, { version: '0.3.0', channel: 'stable', allowDowngrade: false }), {
    message: /no release 0\.3\.0 in .*: there is 0\.1\.0, 0\.2\.0/u,
  });
  removeRelease(repository, '0.1.0');
  await releases.sign();

  const { root, timestamp, snapshot, targets } = { root: releases.root, ...repository.metadata() };
  const paths = readTrusted({ root, timestamp, snapshot, targets }).targets.map(({ path }) => path);
  t.is(paths.length, 5, 'three files, the release, the channel');
});
