/** Public keys: those that ssh-keygen makes are taken, and whatever else is pasted is refused with what it is. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ava from 'ava';
import * as fc from 'fast-check';
import { parsePublicKey, PUBLIC_KEY_LINE_CHARS_MAX } from '../../../actors/ssh/public-key.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { fingerprintBy, madeKey, problemOf, type MadeKey } from './public-key-fixture.ts';

const test = await peerTest('ssh-keygen');
const scope = createScope();
ava.after.always('the keys go', () => scope.end());

let ed25519: MadeKey;
let rsa: MadeKey;
let good: readonly MadeKey[];

test.before(async () => {
  ed25519 = await madeKey(scope, 'ed25519');
  rsa = await madeKey(scope, 'rsa', 2_048);
  const ecdsa = await Promise.all([256, 384, 521].map((bits) => madeKey(scope, 'ecdsa', bits)));
  good = [ed25519, rsa, ...ecdsa, await madeKey(scope, 'rsa', 4_096)];
});

test('what ssh-keygen makes is taken, under the fingerprint that it shows', (t) => {
  for (const { line, fingerprint, kind } of good) {
    const parsed = parsePublicKey(line);

    t.deepEqual(
      parsed,
      { ok: true, key: { algorithm: line.split(' ')[0] as 'ssh-rsa', line: line.trim(), fingerprint } },
      kind,
    );
  }
});

test('white space, a missing comment, and missing padding change nothing of a key', (t) => {
  const [algorithm = '', base64 = ''] = rsa.line.split(' ');
  for (const text of [
    `  ${algorithm}\t ${base64}  \r\n`,
    `${algorithm} ${base64.replace(/=+$/u, '')}`,
    `${algorithm} ${base64}`,
  ]) {
    t.deepEqual(
      parsePublicKey(text),
      { ok: true, key: { algorithm: 'ssh-rsa', line: `${algorithm} ${base64}`, fingerprint: rsa.fingerprint } },
      text,
    );
  }
  const spaced = parsePublicKey(`${algorithm}  ${base64}  a  comment with "quotes" — and ünïcode`);
  t.is(spaced.ok ? spaced.key.line : spaced.problem, `${algorithm} ${base64} a  comment with "quotes" — and ünïcode`);
});

test('what people paste in its place is told apart, and nothing of it is repeated', async (t) => {
  execFileSync('ssh-keygen', ['-q', '-s', rsa.file, '-I', 'id', '-n', 'ada', `${ed25519.file}.pub`], {
    stdio: 'ignore',
  });
  const certificate = readFileSync(`${ed25519.file}-cert.pub`, 'utf8');
  const converted = (...args: string[]): string =>
    execFileSync('ssh-keygen', ['-e', '-f', `${rsa.file}.pub`, ...args]).toString();
  const [dsa, weak] = [(await madeKey(t, 'dsa')).line, (await madeKey(t, 'rsa', 1_024)).line];
  const base64 = ed25519.line.split(' ')[1] ?? '';
  const shown = execFileSync('ssh-keygen', ['-lf', `${ed25519.file}.pub`]).toString();
  const md5 = execFileSync('ssh-keygen', ['-lf', `${ed25519.file}.pub`, '-E', 'md5']).toString();
  const cases: readonly (readonly [text: string, problem: RegExp])[] = [
    ['', /^must not be empty$/u],
    ['   \n ', /^must not be empty$/u],
    [readFileSync(ed25519.file, 'utf8'), /is a private key, which must never leave your machine/u],
    [readFileSync(rsa.file, 'utf8').split('\n').slice(0, 3).join('\n'), /is a private key/u],
    ['PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none', /is a private key/u],
    [certificate, /is a certificate/u],
    ['sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29t ada', /security token/u],
    [dsa, /is a DSA key, which is too weak/u],
    [`no-pty,command="echo hi" ${ed25519.line}`, /something in front of its algorithm/u],
    [`from="10.0.0.0/8" ${ed25519.line}`, /something in front of its algorithm/u],
    [`node-1 ${ed25519.line}`, /something in front of its algorithm/u],
    [ed25519.fingerprint, /is a fingerprint/u],
    [shown, /is a fingerprint/u],
    [md5, /is a fingerprint/u],
    [md5.split(' ')[1]?.replace('MD5:', '') ?? '', /is a fingerprint/u],
    [base64, /lacks its algorithm/u],
    [`${base64} ada@example.com`, /lacks its algorithm/u],
    ['ssh-ed25519', /lacks the key itself/u],
    [`${ed25519.line}${rsa.line}`, /is several keys/u],
    [`ssh-ed25519 ${base64.slice(0, 40)}\n${base64.slice(40)}`, /has line breaks in it/u],
    [`${ed25519.line.trim()}\u2028x`, /has line breaks in it/u],
    [`ssh-ed25519 ${base64} a\u0007b`, /control characters/u],
    [converted(), /RFC 4716: convert it with ssh-keygen -i/u],
    [converted('-m', 'PKCS8'), /PEM format: convert it/u],
    [converted('-m', 'PEM'), /PEM format: convert it/u],
    ['-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----', /X\.509 certificate/u],
    [`ssh-ed25519 ${base64.slice(0, 30)}…${base64.slice(40)}`, /something else than base64/u],
    [`ssh-ed25519 ${base64}=`, /something else than base64/u],
    [`ssh-ed25519 ${base64.slice(0, -4)}`, /cut off or damaged/u],
    [`ssh-rsa ${base64}`, /says ssh-rsa, but holds a key for ssh-ed25519/u],
    [`ssh-ed25519 ${dsa.split(' ')[1] ?? ''}`, /says ssh-ed25519, but holds something else/u],
    ['hello world', /must begin with one of ssh-ed25519, ecdsa-sha2-nistp256/u],
    [`${ed25519.line.trim()} ${'x'.repeat(PUBLIC_KEY_LINE_CHARS_MAX)}`, /must be at most 8192 characters/u],
    [weak, /is an RSA key of 1024 bits, which is too weak/u],
  ];

  for (const [text, problem] of cases) {
    const told = problemOf(text);
    t.regex(told ?? 'taken', problem, text);
    t.notRegex(told ?? '', /\n/u);
    t.false((told ?? '').includes(base64.slice(20, 40)) || (told ?? '').includes('b3BlbnNzaC1r'), 'no word of the key');
  }
});

/** A key with some characters replaced, taken out, put in or moved. */
const mutated = (): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(...good),
      fc.array(
        fc.record({
          at: fc.oneof(fc.nat(900), fc.integer({ min: -16, max: -1 })),
          how: fc.constantFrom('replace', 'drop', 'insert', 'swap', 'cut'),
          by: fc.oneof(
            fc.constantFrom('A', '/', '=', ' ', '\n', '\0', '"', '…'),
            fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
          ),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    )
    .map(([{ line }, changes]) =>
      changes.reduce((text, { at, how, by }) => {
        const place = at < 0 ? Math.max(0, text.length + at) : at % (text.length + 1);
        const [before, after] = [text.slice(0, place), text.slice(place)];
        switch (how) {
          case 'replace':
            return before + by + after.slice(1);
          case 'drop':
            return before + after.slice(1);
          case 'insert':
            return before + by + after;
          case 'swap':
            return after + before;
          case 'cut':
            return before;
          default:
            throw new Error(`${String(how satisfies never)} is no way to change a text`);
        }
      }, line),
    );

test('whatever is done to a line, it is refused in one sentence, or is exactly the key that stands in it', (t) => {
  let taken = 0;
  fc.assert(
    fc.property(fc.oneof(mutated(), fc.string({ unit: 'binary', maxLength: 300 })), (text) => {
      const parsed = parsePublicKey(text);

      if (!parsed.ok) {
        t.regex(parsed.problem, /^[a-z][^\n\r]{5,200}$/u);
        return;
      }
      taken += 1;
      const [algorithm = '', base64 = '', ...comment] = text.trim().split(/[ \t]+/u);
      const blob = Buffer.from(base64, 'base64');
      t.is(parsed.key.line.split(' ').slice(0, 2).join(' '), `${algorithm} ${blob.toString('base64')}`);
      t.is(
        parsed.key.line.split(' ').slice(2).join(' ').replaceAll(/\s/gu, ''),
        comment.join('').replaceAll(/\s/gu, ''),
      );
      t.deepEqual(parsePublicKey(parsed.key.line), parsed, 'what is stored reads as itself');
    }),
    { numRuns: 4_000 },
  );
  t.true(taken > 50, `${taken} were taken`);
});

test('what is taken, ssh-keygen takes too, under the same fingerprint', (t) => {
  const directory = temporaryDirectory(t);
  const keys = [...fc.sample(mutated(), 1_500), newKey().line]
    .map(parsePublicKey)
    .flatMap((parsed) => (parsed.ok ? [parsed.key] : []))
    .slice(-60);
  for (const [index, { line, fingerprint }] of keys.entries()) {
    const file = join(directory, `taken-${index}.pub`);
    writeFileSync(file, `${line}\n`);
    t.is(fingerprintBy(file), fingerprint, line);
  }
});
