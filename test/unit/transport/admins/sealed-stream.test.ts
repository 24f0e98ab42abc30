/** Bytes of agents between admins, sealed in records: each way by itself, and cut by whatever comes otherwise. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { RELAYED_RECORD_BYTES_MAX } from '../../../../transport/admins/limits.ts';
import { MessageSeals } from '../../../../transport/admins/message-seals.ts';
import { SealedStream } from '../../../../transport/admins/sealed-stream.ts';
import { rest, tcpPair } from '../../../support/net/stream-pairs.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

const keyOf = (byte: number) => createSecretKey(Buffer.alloc(32, byte));
const KEYS = [keyOf(1), keyOf(2)] as const;
const ours = () => new MessageSeals(KEYS[0], KEYS[1]);
const theirs = () => new MessageSeals(KEYS[1], KEYS[0]);
const NOTHING = Buffer.alloc(0);

/** One end, and the bare socket that is the other. */
async function bareEnd(t: Scope, head = NOTHING) {
  const pair = await tcpPair(t);
  let broken = 0;
  const options = { seals: ours(), head, answersFirst: false, broken: () => void (broken += 1) };
  const sealed = new SealedStream(pair.ours, options);
  t.teardown(() => void sealed.destroy());
  return { sealed, bare: pair.theirs, broken: () => broken };
}

/** Both ends, of which the second one answers first. */
async function bothEnds(t: ExecutionContext): Promise<readonly [Duplex, Duplex, Duplex]> {
  const pair = await tcpPair(t);
  const options = { head: NOTHING, broken: () => t.fail('nothing is broken') };
  const near = new SealedStream(pair.ours, { ...options, seals: ours(), answersFirst: false });
  const far = new SealedStream(pair.theirs, { ...options, seals: theirs(), answersFirst: false });
  t.teardown(() => {
    near.destroy();
    far.destroy();
  });
  return [near, far, pair.ours];
}

function record(sealed: Buffer, length = sealed.length): Buffer {
  const before = Buffer.alloc(4);
  before.writeUInt32BE(length);
  return Buffer.concat([before, sealed]);
}

test('what is said comes to the byte, each way ends by itself, and both are over then', async (t) => {
  const [near, far, socket] = await bothEnds(t);
  const [question, answer] = [randomBytes(3_000_001), randomBytes(2_000_000)];
  const heard = rest(near);

  near.end(question);
  const asked = await rest(far);
  far.write(answer.subarray(0, 7));
  far.end(answer.subarray(7));

  t.true(asked.isWhole && asked.bytes.equals(question));
  const answered = await heard;
  t.true(answered.isWhole && answered.bytes.equals(answer));
  await Promise.all([near, far].map(async (stream) => stream.closed || (await once(stream, 'close'))));
  t.true(socket.destroyed);
  t.is(near.errored, null);
});

/** Far beyond what two sockets and two streams hold. */
const PIECES_MAX = 1_000;

test('who reads slowly holds up who writes', async (t) => {
  const [near, far] = await bothEnds(t);
  far.pause();
  const piece = randomBytes(RELAYED_RECORD_BYTES_MAX);

  let pieces = 0;
  while (pieces < PIECES_MAX && near.write(piece)) {
    pieces += 1;
    await new Promise(setImmediate);
  }
  t.true(pieces < PIECES_MAX, 'there is an end to what it takes');

  const drained = once(near, 'drain');
  far.resume();
  await drained;
});

test('the head of an answer goes as it is, and sealed is what is written behind it', async (t) => {
  const pair = await tcpPair(t);
  const sealed = new SealedStream(pair.ours, { seals: ours(), head: NOTHING, answersFirst: true, broken: () => {} });
  const heard = rest(pair.theirs);

  sealed.write('HTTP/1.1 101 Switching Protocols\r\n\r\nsecret');
  sealed.end('more');

  const { bytes } = await heard;
  const head = 'HTTP/1.1 101 Switching Protocols\r\n\r\n';
  t.is(bytes.subarray(0, head.length).toString(), head);
  const seals = ours();
  const records = Buffer.concat(['secret', 'more', ''].map((text) => record(seals.seal(Buffer.from(text)))));
  t.true(bytes.subarray(head.length).equals(records));
});

test('records are read however they are cut up, also those that came with the upgrade', async (t) => {
  const seals = theirs();
  const said = Buffer.concat(['first', 'second', ''].map((text) => record(seals.seal(Buffer.from(text)))));
  const { sealed, bare } = await bareEnd(t, said.subarray(0, 11));
  const heard = rest(sealed);

  for (const byte of said.subarray(11)) {
    bare.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }

  t.deepEqual(await heard, { bytes: Buffer.from('firstsecond'), isWhole: true });
});

/** What somebody between the two may make of two records and an end; the first one is left as it is. */
const FAULTS: Readonly<Record<string, (records: readonly Buffer[]) => readonly Buffer[]>> = {
  'a bit of the text that was turned': ([one, two]) => [one!, turned(two!, -1)],
  'a bit of the tag that was turned': ([one, two]) => [one!, turned(two!, 4)],
  'a record that comes a second time': ([one]) => [one!, one!],
  'a record that is left out': ([one, , end]) => [one!, end!],
  'a record in clear': ([one]) => [one!, record(Buffer.from('in clear, and long enough for a tag'))],
  'a record without a tag': ([one]) => [one!, record(Buffer.alloc(3))],
  'a record that is too large': ([one]) => [one!, record(NOTHING, RELAYED_RECORD_BYTES_MAX + 17)],
  'a record of the other direction': ([one]) => [one!, record(second(ours()))],
};

for (const [name, made] of Object.entries(FAULTS))
  test(`${name} cuts the stream, and nothing of it is heard`, async (t) => {
    const seals = theirs();
    const { sealed, bare, broken } = await bareEnd(t);
    const heard = rest(sealed);

    for (const bytes of made(['first', 'second', ''].map((text) => record(seals.seal(Buffer.from(text))))))
      bare.write(bytes);
    await until('both are cut', () => sealed.closed && bare.destroyed);

    t.deepEqual(await heard, { bytes: Buffer.from('first'), isWhole: false });
    t.is(broken(), 1);
    t.not(sealed.errored, null);
  });

test('an end that nobody sealed is a cut, as is a connection that breaks, and neither is told as a fault', async (t) => {
  const [ended, broken] = [await bareEnd(t), await bareEnd(t)];
  const heard = [rest(ended.sealed), rest(broken.sealed)];
  const first = record(theirs().seal(Buffer.from('first')));
  for (const { bare, sealed } of [ended, broken]) {
    bare.write(first);
    await once(sealed, 'data');
  }

  ended.bare.end();
  broken.bare.resetAndDestroy();

  for (const { isWhole } of await Promise.all(heard)) t.false(isWhole);
  t.deepEqual([ended.broken(), broken.broken()], [0, 0]);
  t.true(ended.sealed.errored !== null && broken.sealed.errored !== null);
});

test('a record has so many bytes at most', (t) => {
  t.is(RELAYED_RECORD_BYTES_MAX, 65_536);
});

function turned(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  const place = at < 0 ? copy.length + at : at;
  copy.writeUInt8(copy.readUInt8(place) ^ 1, place);
  return copy;
}

/** Sealed for the second place. */
function second(seals: MessageSeals): Buffer {
  seals.seal(NOTHING);
  return seals.seal(Buffer.from('second'));
}
