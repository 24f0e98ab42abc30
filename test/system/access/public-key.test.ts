/** Public keys: those that ssh-keygen makes are taken, and whatever else is pasted is refused with what it is. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ava from 'ava';
import * as fc from 'fast-check';
import { parsePublicKey, PUBLIC_KEY_LINE_CHARS_MAX } from '../../../actors/ssh/public-key.ts';
import { peerTest } from '../../support/peer-test.ts';
import { keyOf, newKey } from '../../support/ssh-keys.ts';

const test = await peerTest('ssh-keygen');

/** Made once by OpenSSH's own program: the files of each kind of key, and its fingerprint. */
interface Made {
  readonly kind: string;
  readonly file: string;
  readonly line: string;
  readonly fingerprint: string;
}

const directory = mkdtempSync(join(tmpdir(), 'edge-keys-'));
ava.after.always('the keys are removed', () => rmSync(directory, { recursive: true }));

function make(kind: string, bits?: number): Made {
  const file = join(directory, `${kind}-${bits ?? 0}`);
  execFileSync('ssh-keygen', [
    '-q',
    '-t',
    kind,
    ...(bits === undefined ? [] : ['-b', String(bits)]),
    '-N',
    '',
    '-C',
    'ada@example.com',
    '-f',
    file,
  ]);
  return { kind, file, line: readFileSync(`${file}.pub`, 'utf8'), fingerprint: fingerprintBy(`${file}.pub`) };
}

function fingerprintBy(file: string): string {
  return (
    execFileSync('ssh-keygen', ['-lf', file], { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .split(' ')[1] ?? ''
  );
}

let ed25519: Made;
let rsa: Made;
let ecdsa: readonly Made[];
let good: readonly Made[];

test.before(() => {
  ed25519 = make('ed25519');
  rsa = make('rsa', 2_048);
  ecdsa = [256, 384, 521].map((bits) => make('ecdsa', bits));
  good = [ed25519, rsa, ...ecdsa, make('rsa', 4_096)];
});

function problemOf(text: string): string | null {
  const parsed = parsePublicKey(text);
  return parsed.ok ? null : parsed.problem;
}

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

test('what people paste in its place is told apart, and nothing of it is repeated', (t) => {
  execFileSync('ssh-keygen', ['-q', '-s', rsa.file, '-I', 'id', '-n', 'ada', `${ed25519.file}.pub`], {
    stdio: 'ignore',
  });
  const certificate = readFileSync(`${ed25519.file}-cert.pub`, 'utf8');
  const converted = (...args: string[]): string =>
    execFileSync('ssh-keygen', ['-e', '-f', `${rsa.file}.pub`, ...args]).toString();
  const dsa = make('dsa').line;
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
    [make('rsa', 1_024).line, /is an RSA key of 1024 bits, which is too weak/u],
  ];

  for (const [text, problem] of cases) {
    const told = problemOf(text);
    t.regex(told ?? 'taken', problem, text);
    t.notRegex(told ?? '', /\n/u);
    t.false((told ?? '').includes(base64.slice(20, 40)) || (told ?? '').includes('b3BlbnNzaC1r'), 'no word of the key');
  }
});

const bytesOf = (hex: string): Uint8Array => Buffer.from(hex, 'hex');
const flipped = (bytes: Uint8Array, at: number): Uint8Array =>
  Uint8Array.from(bytes, (byte, index) => (index === at ? byte ^ 1 : byte));

/** The parts of a blob behind its algorithm. */
function partsOf({ line }: Made): readonly Uint8Array[] {
  const blob = Buffer.from(line.split(' ')[1] ?? '', 'base64');
  const parts: Uint8Array[] = [];
  for (let at = 0; at < blob.length;) {
    const length = blob.readUInt32BE(at);
    parts.push(blob.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return parts.slice(1);
}

test('a point that is not on its curve, or stands for no key, is refused', (t) => {
  for (const made of ecdsa) {
    const algorithm = made.line.split(' ')[0] ?? '';
    const [name = new Uint8Array(), point = new Uint8Array()] = partsOf(made);
    const size = (point.length - 1) / 2;
    const x = point.subarray(1, 1 + size);
    const y = point.subarray(1 + size);
    const field =
      {
        nistp256: 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n,
        nistp384: 2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
        nistp521: 2n ** 521n - 1n,
      }[Buffer.from(name).toString()] ?? 0n;
    const beyond = (coordinate: Uint8Array): Uint8Array =>
      Buffer.from(
        (BigInt(`0x${Buffer.from(coordinate).toString('hex')}`) + field)
          .toString(16)
          .padStart(size * 2, '0')
          .slice(-size * 2),
        'hex',
      );

    t.is(problemOf(keyOf(algorithm, [name, point]).line), null);
    for (const wrong of [
      flipped(point, 5),
      flipped(point, point.length - 1),
      Buffer.concat([Buffer.from([4]), Buffer.alloc(2 * size)]),
      Buffer.from([0]),
      Buffer.concat([Buffer.from([2 + (Number(y.at(-1)) & 1)]), x]),
      Buffer.concat([Buffer.from([4]), y, x]),
      Buffer.concat([Buffer.from([4]), beyond(x), y]),
      Buffer.concat([Buffer.from([4]), x, beyond(y)]),
    ])
      t.is(
        problemOf(keyOf(algorithm, [name, wrong]).line),
        'is damaged: its point is not on the curve',
        `${algorithm} ${Buffer.from(wrong).toString('hex')}`,
      );
    for (const parts of [[name], [name, point, point], [Buffer.from('nistp999'), point], []])
      t.is(problemOf(keyOf(algorithm, parts).line), 'is damaged: it does not have the parts of its algorithm');
    t.is(
      problemOf(
        keyOf('ecdsa-sha2-nistp256', [
          Buffer.from('nistp256'),
          ecdsa[1] === undefined ? point : (partsOf(ecdsa[1])[1] ?? point),
        ]).line,
      ),
      'is damaged: its point is not on the curve',
      'a point of another curve',
    );
  }
});

test('an Ed25519 point off the curve, with a coordinate beyond the field, or of small order is refused', (t) => {
  const p = 2n ** 255n - 19n;
  const little = (value: bigint): Uint8Array =>
    Uint8Array.from(Buffer.from(value.toString(16).padStart(64, '0'), 'hex')).reverse();
  const small = [
    // the eight points of small order, and other ways to write them
    little(1n),
    little(1n + 2n ** 255n),
    little(p - 1n),
    little(0n),
    little(2n ** 255n),
    little(p),
    little(p + 1n),
    bytesOf('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'),
    bytesOf('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85'),
    bytesOf('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'),
    bytesOf('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa'),
  ];
  for (const point of [...small, little(2n), little(p + 9n)])
    t.is(
      problemOf(keyOf('ssh-ed25519', [point]).line),
      'is damaged: its point is not on the curve',
      Buffer.from(point).toString('hex'),
    );

  t.is(
    problemOf(keyOf('ssh-ed25519', [bytesOf('5866666666666666666666666666666666666666666666666666666666666666')]).line),
    null,
    'the base point of RFC 8032',
  );
  for (const parts of [
    [],
    [Buffer.alloc(31)],
    [Buffer.alloc(33)],
    [partsOf(ed25519)[0] ?? Buffer.alloc(0), Buffer.alloc(0)],
  ])
    t.is(problemOf(keyOf('ssh-ed25519', parts).line), 'is damaged: it does not have the parts of its algorithm');
});

test('RSA numbers have one encoding, and sizes that a key can have', (t) => {
  const [exponent = new Uint8Array(), modulus = new Uint8Array()] = partsOf(rsa);
  const problem = (e: Uint8Array, n: Uint8Array): string | null => problemOf(keyOf('ssh-rsa', [e, n]).line);
  const modulusOf = (bits: number): Uint8Array =>
    Buffer.from(
      `00${(2n ** BigInt(bits - 1) + 1n).toString(16).padStart(Math.ceil(bits / 8) * 2, '0')}`.replace(
        /^00(?=[0-7])/u,
        '',
      ),
      'hex',
    );
  const misshapen = 'is damaged: it does not have the parts of its algorithm';

  t.is(problem(exponent, modulus), null);
  t.is(problem(exponent, Buffer.concat([Buffer.from([0]), modulus])), misshapen, 'a zero too many');
  t.is(problem(exponent, modulus.subarray(1)), misshapen, 'a negative number');
  t.is(problem(Buffer.from([]), modulus), misshapen);
  t.is(problem(Buffer.from([0]), modulus), misshapen);
  t.is(problemOf(keyOf('ssh-rsa', [exponent, modulus, modulus]).line), misshapen);
  t.is(problem(exponent, flipped(modulus, modulus.length - 1)), 'is damaged: its RSA modulus is even');
  for (const wrong of [
    Buffer.from([1]),
    Buffer.from([2]),
    Buffer.from([1, 0, 0]),
    Buffer.concat([Buffer.from([1]), Buffer.alloc(7), Buffer.from([1])]),
  ])
    t.is(problem(wrong, modulus), 'is damaged: its RSA exponent is not one');
  t.is(
    problem(exponent, modulusOf(2_047)),
    'is an RSA key of 2047 bits, which is too weak: it must have 2048 or more (or better, make one with ssh-keygen -t ed25519)',
  );
  t.is(problem(exponent, modulusOf(2_048)), null);
  t.is(problem(exponent, modulusOf(16_384)), null);
  t.is(problem(exponent, modulusOf(16_385)), 'is an RSA key of 16385 bits: it must have 16384 at most');
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
