/** Keys that are made once into DATA_DIR, by whoever comes first. */
import { execFile } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import {
  encryptionKeyIn,
  encryptionKeysIn,
  rotateEncryptionKeyIn,
} from '../../../../persistence/embedded/encryption-key.ts';
import { EmbeddedPostgresError } from '../../../../persistence/embedded/failure.ts';
import { masterKeyIn } from '../../../../persistence/embedded/master-key.ts';
import { ROOT } from '../../../support/source/source-text.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Programs that ask at the same moment. */
const RACERS = 6;

/** Makes both keys as soon as the moment, in Unix ms, has come, and prints the first. */
const RACER = `
  const { masterKeyIn } = await import(${JSON.stringify(join(ROOT, 'persistence/embedded/master-key.ts'))});
  const { encryptionKeyIn } = await import(${JSON.stringify(join(ROOT, 'persistence/embedded/encryption-key.ts'))});
  const [, directory, moment] = process.argv;
  while (Date.now() < Number(moment));
  console.log(masterKeyIn(directory).key, Buffer.from(encryptionKeyIn(directory)).toString('hex'));
`;

test('keys are made once, by however many programs ask, and only their owner can read them', async (t) => {
  const dir = temporaryDirectory(t);
  const words = ['--input-type=module', '--eval', RACER, dir, String(Date.now() + 500)];

  const printed = await Promise.all(
    Array.from({ length: RACERS }, () => promisify(execFile)(process.execPath, words).then(({ stdout }) => stdout)),
  );

  const { file, key } = masterKeyIn(dir);
  t.deepEqual([...new Set(printed)], [`${key} ${Buffer.from(encryptionKeyIn(dir)).toString('hex')}\n`]);
  t.is(file, join(dir, 'master.key'));
  t.deepEqual(readdirSync(dir).toSorted(), ['encryption.key', 'master.key']);
  t.deepEqual(
    readdirSync(dir).map((name) => statSync(join(dir, name)).mode & 0o777),
    [0o600, 0o600],
  );
});

test('keys are 32 random bytes each', (t) => {
  const [one, other] = [temporaryDirectory(t), temporaryDirectory(t)];

  t.regex(masterKeyIn(one).key, /^[\da-f]{64}$/u);
  t.is(encryptionKeyIn(one).length, 32);
  t.not(masterKeyIn(one).key, masterKeyIn(other).key);
});

test('a master key is made in a directory that is not there yet, which others may pass', (t) => {
  const dir = join(temporaryDirectory(t), 'new', 'data');

  const { file } = masterKeyIn(dir);

  t.is(readFileSync(file, 'utf8'), `${masterKeyIn(dir).key}\n`);
  t.is(statSync(dir).mode & 0o055, 0o055);
});

test('a directory that is none is told as such', (t) => {
  const file = join(temporaryDirectory(t), 'file');
  writeFileSync(file, '');

  t.throws(() => masterKeyIn(file), { instanceOf: EmbeddedPostgresError, message: /is not a directory \(EEXIST\)/u });
});

test('what stands in such a file is used as it is, without the end of its line, and left alone', (t) => {
  const dir = temporaryDirectory(t);
  writeFileSync(join(dir, 'master.key'), 'a-key-of-somebody\r\n');
  chmodSync(join(dir, 'master.key'), 0o400);

  t.is(masterKeyIn(dir).key, 'a-key-of-somebody');
  t.is(readFileSync(join(dir, 'master.key'), 'utf8'), 'a-key-of-somebody\r\n');
});

test('a damaged encryption key is refused, not replaced', (t) => {
  const dir = temporaryDirectory(t);
  writeFileSync(join(dir, 'encryption.key'), 'short\n');

  t.throws(() => encryptionKeyIn(dir), { instanceOf: EmbeddedPostgresError, message: /holds no key of 32 bytes/u });
  t.is(readFileSync(join(dir, 'encryption.key'), 'utf8'), 'short\n');
});

test('a rotation puts another key into its file and keeps the former ones beside it, for the same owner alone', (t) => {
  const dir = temporaryDirectory(t);
  const first = encryptionKeyIn(dir);

  rotateEncryptionKeyIn(dir);
  const second = encryptionKeysIn(dir);
  rotateEncryptionKeyIn(dir);
  const third = encryptionKeysIn(dir);

  t.deepEqual(second.former, [first]);
  t.deepEqual(third.former, [second.key, first]);
  t.is(new Set([first, second.key, third.key].map((key) => Buffer.from(key).toString('hex'))).size, 3);
  t.deepEqual(readdirSync(dir).toSorted(), ['encryption-old.keys', 'encryption.key']);
  t.deepEqual(
    readdirSync(dir).map((name) => statSync(join(dir, name)).mode & 0o777),
    [0o600, 0o600],
  );
});

test('a rotation that was cut off between its two files has changed nothing', (t) => {
  const dir = temporaryDirectory(t);
  const key = encryptionKeyIn(dir);
  writeFileSync(join(dir, 'encryption-old.keys'), `${Buffer.from(key).toString('base64')}\n`);

  t.deepEqual(encryptionKeysIn(dir), { key, former: [] });
});

test('a rotation is refused where there is no key, and where former ones would be lost', (t) => {
  const dir = temporaryDirectory(t);
  const empty = t.throws(() => rotateEncryptionKeyIn(dir), { instanceOf: EmbeddedPostgresError });
  encryptionKeyIn(dir);
  for (let times = 0; times < 4; times += 1) rotateEncryptionKeyIn(dir);
  const before = encryptionKeysIn(dir);

  const full = t.throws(() => rotateEncryptionKeyIn(dir), { instanceOf: EmbeddedPostgresError });

  t.regex(empty?.message ?? '', /encryption\.key is not there: set DATA_DIR as the admin has it\.$/u);
  t.regex(full?.message ?? '', /holds 4 keys: remove those/u);
  t.deepEqual(encryptionKeysIn(dir), before);
});
