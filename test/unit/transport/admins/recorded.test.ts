/**
 * What admins of earlier versions said, as it was on the wire: it is read as they meant it. A recording is never edited;
 * a new version adds its own.
 */
import { readFileSync } from 'node:fs';
import test from 'ava';
import { PeerKeys } from '../../../../transport/admins/peer-key.ts';
import { readHeader } from '../../../../transport/admins/peer-header.ts';
import { decodeAnswer, decodeCall, encodeAnswer, encodeCall } from '../../../../transport/admins/protocol/call.ts';
import { LINK_VERSION, LINK_VERSION_MIN } from '../../../../transport/admins/protocol/version.ts';

/** A key, a header and what was sealed with it, in base64url; calls and answers as text, with what they mean. */
interface Recording {
  readonly version: number;
  readonly route: string;
  readonly root: string;
  readonly header: string;
  readonly call: string;
  readonly answer: string;
  readonly calls: readonly unknown[];
  readonly answers: readonly unknown[];
}

const recordings = Array.from({ length: LINK_VERSION - LINK_VERSION_MIN + 1 }, (_, index) => {
  const file = new URL(`recorded/version-${LINK_VERSION_MIN + index}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as Recording;
});

const bytes = (text: string): Buffer => Buffer.from(text, 'base64url');

for (const recording of recordings) {
  test(`a call of version ${recording.version} is proven, opened and read, and so is its answer`, (t) => {
    const header = readHeader(recording.header);
    if (header === null) throw new Error('the recording has no header');
    const keys = new PeerKeys(() => [{ id: 'recorded', bytes: bytes(recording.root) }], {
      admin: header.said.fromAdmin,
      instance: header.said.toInstance,
    });

    t.true(keys.isProven(recording.route, header));
    t.deepEqual(decodeCall(keys.openCall(header, bytes(recording.call)) ?? Buffer.alloc(0)), recording.calls[0]);
    t.deepEqual(
      decodeAnswer(keys.openAnswer(header, bytes(recording.answer)) ?? Buffer.alloc(0)),
      recording.answers[0],
    );
  });

  test(`calls and answers of version ${recording.version} mean what they meant, and are written as they were`, (t) => {
    for (const call of recording.calls) {
      const read = decodeCall(Buffer.from(JSON.stringify(call)));
      t.deepEqual(read, call);
      if (read !== null) t.deepEqual(JSON.parse(encodeCall(read).toString()), call);
    }
    for (const answer of recording.answers) {
      const read = decodeAnswer(Buffer.from(JSON.stringify(answer)));
      t.deepEqual(read, answer);
      if (read !== null) t.deepEqual(JSON.parse(encodeAnswer(read).toString()), answer);
    }
  });
}

test('what is no call and no answer is none', (t) => {
  for (const text of ['', '{', 'null', '[]', '{}', '{"type":"new"}', '{"type":"answered","result":{"ok":"yes"}}']) {
    t.is(decodeCall(Buffer.from(text)), null, text);
    t.is(decodeAnswer(Buffer.from(text)), null, text);
  }
  for (const call of recordings[0]?.calls ?? [])
    for (const [name, value] of Object.entries({
      call_id: 'x',
      operation: '',
      target: { kind: 'planet', id: '1' },
      epoch: '1',
      remaining_ms: -1,
      attempt: 0,
      idempotency: {},
    }))
      t.is(decodeCall(Buffer.from(JSON.stringify({ ...(call as object), [name]: value }))), null, name);
});
