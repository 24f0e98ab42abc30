/** Public keys with numbers in them that no key can have: each is refused as damaged, whatever its line looks like. */
import ava from 'ava';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { keyOf } from '../../support/ssh/ssh-keys.ts';
import { madeKey, problemOf, type MadeKey } from './public-key-fixture.ts';

const test = await peerTest('ssh-keygen');
const scope = createScope();
ava.after.always('the keys go', () => scope.end());

let ed25519: MadeKey;
let rsa: MadeKey;
let ecdsa: readonly MadeKey[];

test.before(async () => {
  ed25519 = await madeKey(scope, 'ed25519');
  rsa = await madeKey(scope, 'rsa', 2_048);
  ecdsa = await Promise.all([256, 384, 521].map((bits) => madeKey(scope, 'ecdsa', bits)));
});

const bytesOf = (hex: string): Uint8Array => Buffer.from(hex, 'hex');
const flipped = (bytes: Uint8Array, at: number): Uint8Array =>
  Uint8Array.from(bytes, (byte, index) => (index === at ? byte ^ 1 : byte));

/** The parts of a blob behind its algorithm. */
function partsOf({ line }: MadeKey): readonly Uint8Array[] {
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
