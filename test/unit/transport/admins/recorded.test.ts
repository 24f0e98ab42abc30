/**
 * What admins of earlier versions said, as it was on the wire: it is read as they meant it. A recording is never
 * edited; a new version adds its own.
 */
import { readFileSync } from 'node:fs';
import test from 'ava';
import { MessageSeals } from '../../../../transport/admins/message-seals.ts';
import { PeerKeys } from '../../../../transport/admins/peer-key.ts';
import { readHeader } from '../../../../transport/admins/peer-header.ts';
import { decodeAnswer, decodeCall, encodeAnswer, encodeCall } from '../../../../transport/admins/protocol/call.ts';
import { decodeNumbered, LINK_WORDS } from '../../../../transport/admins/protocol/call-link.ts';
import { readPong } from '../../../../transport/admins/protocol/pong.ts';
import { SealedStream } from '../../../../transport/admins/sealed-stream.ts';
import { LINK_VERSION, LINK_VERSION_CALLS, LINK_VERSION_MIN } from '../../../../transport/admins/protocol/version.ts';
import { rest, tcpPair } from '../../../support/net/stream-pairs.ts';

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

/** A connection of calls: each message in its place, with its number and, but for number 0, a call or an answer. */
interface RecordedLink {
  readonly route: string;
  readonly root: string;
  readonly header: string;
  readonly fromDialler: RecordedSide;
  readonly fromDialled: RecordedSide;
}

/** A tunnel that was passed on: all records of each way, with their end, and answers to a ping. */
interface RecordedRelay {
  readonly route: string;
  readonly root: string;
  readonly header: string;
  readonly fromDialler: { readonly text: string; readonly sealed: string };
  readonly fromDialled: { readonly text: string; readonly sealed: string };
  readonly pongs: readonly unknown[];
}

interface RecordedSide {
  readonly messages: readonly { readonly n: number; readonly body: unknown }[];
  readonly sealed: readonly string[];
}

for (let version = LINK_VERSION_CALLS; version <= LINK_VERSION; version += 1) {
  test(`a connection of calls of version ${version} is proven, and each of its messages is opened and read`, (t) => {
    const file = new URL(`recorded/calls-version-${version}.json`, import.meta.url);
    const recorded = JSON.parse(readFileSync(file, 'utf8')) as RecordedLink;
    const header = readHeader(recorded.header);
    if (header === null) throw new Error('the recording has no header');
    const keys = new PeerKeys(() => [{ id: 'recorded', bytes: bytes(recorded.root) }], {
      admin: header.said.fromAdmin,
      instance: header.said.toInstance,
    });
    const { toDialled, toDialler } = keys.connectionKeys(header);
    const read = ({ sealed }: RecordedSide, key: typeof toDialled, decode: (body: Buffer) => unknown): unknown => {
      const seals = new MessageSeals(key, key);
      return sealed.map((message) => {
        const { n, body } = decodeNumbered(seals.open(bytes(message)) ?? Buffer.alloc(0)) ?? { n: -1, body: null };
        return { n, body: n > 0 && body !== null ? decode(body) : body?.toString() };
      });
    };

    t.true(keys.isProven(recorded.route, header));
    t.deepEqual(read(recorded.fromDialler, toDialled, decodeCall), recorded.fromDialler.messages);
    t.deepEqual(read(recorded.fromDialled, toDialler, decodeAnswer), recorded.fromDialled.messages);
    t.deepEqual(
      [...recorded.fromDialler.messages, ...recorded.fromDialled.messages].flatMap(({ n, body }) =>
        n === 0 ? body : [],
      ),
      Object.keys(LINK_WORDS),
    );
  });
}

test('what an admin answered to a ping, and bytes of an agent that it sealed from then on, are read', async (t) => {
  const file = new URL('recorded/relayed-version-2.json', import.meta.url);
  const recorded = JSON.parse(readFileSync(file, 'utf8')) as RecordedRelay;
  const header = readHeader(recorded.header);
  if (header === null) throw new Error('the recording has no header');
  const keys = new PeerKeys(() => [{ id: 'recorded', bytes: bytes(recorded.root) }], {
    admin: header.said.fromAdmin,
    instance: header.said.toInstance,
  });
  const { toDialled, toDialler } = keys.connectionKeys(header);
  const read = async ({ sealed }: RecordedRelay['fromDialler'], key: typeof toDialled): Promise<string> => {
    const [seals, { ours }] = [new MessageSeals(key, key), await tcpPair(t)];
    const options = { seals, head: bytes(sealed), answersFirst: false, broken: () => t.fail() };
    return (await rest(new SealedStream(ours, options))).bytes.toString();
  };

  t.true(keys.isProven(recorded.route, header));
  t.is(await read(recorded.fromDialler, toDialled), recorded.fromDialler.text);
  t.is(await read(recorded.fromDialled, toDialler), recorded.fromDialled.text);
  t.deepEqual(recorded.pongs.map(readPong), [{ opens_relayed: false }, { opens_relayed: true }]);
});

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
