/** The wire, against any bytes in any pieces. */
import { randomBytes } from 'node:crypto';
import test from 'ava';
import * as fc from 'fast-check';
import { Answers } from '../../../../../agent/access/sftp/answers.ts';
import { readAttributes } from '../../../../../agent/access/sftp/attributes.ts';
import { PACKET_BYTES_MAX } from '../../../../../agent/access/sftp/limits.ts';
import { HELD_BYTES_MAX, Packets, READ_BYTES_MAX } from '../../../../../agent/access/sftp/packets.ts';
import { FieldWriter, Garbage, type FieldReader } from '../../../../../agent/access/sftp/wire.ts';
import { text, u32, u64 } from '../../../../support/agent/sftp-process.ts';

/**
 * What comes out when `bytes` come in, in pieces of at most these sizes: the contents of packets, and whether it was
 * called garbage.
 */
function cut(bytes: Buffer, sizes: readonly number[]): { contents: Buffer[]; isGarbage: boolean; held: number } {
  const packets = new Packets();
  const contents: Buffer[] = [];
  let at = 0;
  try {
    for (let turn = 0; at < bytes.length; turn += 1) {
      const room = packets.room();
      const length = bytes.copy(room, 0, at, at + Math.max(1, sizes[turn % sizes.length] ?? bytes.length));
      packets.added(length);
      at += length;
      for (let fields = packets.next(); fields !== null; fields = packets.next()) contents.push(rest(fields));
    }
    return { contents, isGarbage: false, held: packets.bytesHeld };
  } catch (error) {
    if (!(error instanceof Garbage)) throw error;
    return { contents, isGarbage: true, held: 0 };
  }
}

function rest(fields: FieldReader): Buffer {
  const bytes = Buffer.alloc(fields.bytesLeft);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = fields.byte();
  return bytes;
}

const pieces = fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 8 });

test('packets come out as they went in, in whatever pieces', (t) => {
  const contents = fc.array(
    fc.oneof(
      fc.uint8Array({ minLength: 5, maxLength: 200 }),
      fc.integer({ min: 5, max: 60_000 }).map((length) => new Uint8Array(length).fill(length)),
    ),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(contents, pieces, fc.uint8Array({ maxLength: 3 }), (sent, sizes, tail) => {
      const {
        contents: seen,
        isGarbage,
        held,
      } = cut(Buffer.concat([...sent.map((bytes) => text(Buffer.from(bytes))), tail]), sizes);
      t.deepEqual([seen.length, isGarbage, held], [sent.length, false, tail.length]);
      // whole values of this size take long to compare
      t.true(seen.every((content, index) => content.equals(sent[index] ?? Buffer.alloc(0))));
    }),
    { numRuns: 150 },
  );
});

test('packets of the largest size come one after the other, and one byte more is garbage', (t) => {
  const largest = Array.from({ length: 7 }, () => randomBytes(PACKET_BYTES_MAX));
  const seen = cut(Buffer.concat(largest.map(text)), [READ_BYTES_MAX, 100_001]);

  t.is(seen.contents.length, 7);
  t.true(seen.contents.every((content, index) => content.equals(largest[index] ?? Buffer.alloc(0))));
  t.true(cut(text(Buffer.alloc(PACKET_BYTES_MAX + 1)), [1_000]).isGarbage);
  t.true(cut(text(Buffer.alloc(4)), [100]).isGarbage);
  t.true(cut(u32(0xffff_ffff), [1]).isGarbage);
});

test('any bytes at all are packets, not enough, or garbage: never anything else', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3_000 }), pieces, (bytes, sizes) => {
      const { contents, isGarbage, held } = cut(Buffer.from(bytes), sizes);
      const taken = contents.reduce((sum, content) => sum + 4 + content.length, 0);
      t.true(isGarbage || taken + held === bytes.length);
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 5, maxLength: 100 }), (bytes) => {
      const packets = new Packets();
      const framed = text(Buffer.from(bytes));
      packets.added(framed.copy(packets.room()));
      const fields = packets.next();
      try {
        if (fields !== null) readAttributes(fields);
        t.true((fields?.bytesLeft ?? -1) >= 0);
      } catch (error) {
        t.true(error instanceof Garbage);
      }
    }),
    { numRuns: 500 },
  );
});

test('a client that is not answered is read on up to a bound', (t) => {
  const packets = new Packets();
  let came = 0;
  while (!packets.isFull) {
    const room = packets.room();
    t.true(room.length >= READ_BYTES_MAX);
    room.fill(0);
    packets.added(room.length);
    came += room.length;
  }

  t.true(came >= HELD_BYTES_MAX && came <= HELD_BYTES_MAX + READ_BYTES_MAX);
  t.true(packets.room().length > 0);
});

test('fields are read as they were written', (t) => {
  const values = fc.record({
    byte: fc.integer({ min: 0, max: 255 }),
    number: fc.integer({ min: 0, max: 0xffff_ffff }),
    long: fc.maxSafeNat(),
    bytes: fc.uint8Array({ maxLength: 100 }),
    words: fc.string({ unit: 'grapheme', maxLength: 50 }),
  });
  fc.assert(
    fc.property(values, ({ byte, number, long, bytes, words }) => {
      const writer = new FieldWriter(2_000);
      writer.byte(byte);
      writer.number(number);
      writer.long(long);
      writer.bytes(bytes);
      writer.bytes(words);
      writer.joined(words, bytes);
      const written = writer.memory.subarray(0, writer.length);

      t.deepEqual(
        written,
        Buffer.concat([
          Buffer.from([byte]),
          u32(number),
          u64(long),
          text(Buffer.from(bytes)),
          text(words),
          text(Buffer.concat([Buffer.from(words), bytes])),
        ]),
      );
      const packets = new Packets();
      packets.added(text(written).copy(packets.room()));
      const fields = packets.next();
      t.deepEqual(
        [
          fields?.byte(),
          fields?.number(),
          fields?.long(),
          fields?.bytes(),
          fields?.bytes().toString(),
          fields?.bytes(),
        ],
        [byte, number, long, Buffer.from(bytes), words, Buffer.concat([Buffer.from(words), bytes])],
      );
      t.is(fields?.bytesLeft, 0);
    }),
  );
});

test('numbers beyond what the wire holds become the largest, as some file systems count without an end', (t) => {
  const writer = new FieldWriter(8);
  writer.long(2 ** 64);

  t.is(writer.memory.readUInt32BE(0), 0xffff_ffff);
});

test('memory of answers that were written is used again', (t) => {
  const answers = new Answers();
  answers.status(1, 0, 'first');
  const first = answers.take();
  answers.status(2, 0, 'second');
  const second = answers.take();
  answers.written(first);
  answers.take();
  answers.status(3, 0, 'third');

  t.is(answers.memory.buffer, first.buffer);
  t.not(second.buffer, first.buffer);
});
