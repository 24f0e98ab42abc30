/**
 * What admins of earlier versions said over connections of news, as it was on the wire: it is read as they meant it. A
 * recording is never edited; a new version adds its own.
 */
import { readFileSync } from 'node:fs';
import test from 'ava';
import { MessageSeals } from '../../../../transport/admins/message-seals.ts';
import { readHeader } from '../../../../transport/admins/peer-header.ts';
import { PeerKeys } from '../../../../transport/admins/peer-key.ts';
import {
  decodeFromDialled,
  decodeFromDialler,
  encodeNewsMessage,
  encodeNotices,
  writtenNews,
} from '../../../../transport/admins/protocol/news.ts';
import { LINK_VERSION, LINK_VERSION_MIN } from '../../../../transport/admins/protocol/version.ts';

/** Messages in their order, and the same as they were sealed, in base64url. */
interface Recorded {
  readonly messages: readonly unknown[];
  readonly sealed: readonly string[];
}

interface Recording {
  readonly version: number;
  readonly route: string;
  readonly root: string;
  readonly header: string;
  readonly fromDialler: Recorded;
  readonly fromDialled: Recorded;
}

const recordings = Array.from({ length: LINK_VERSION - LINK_VERSION_MIN + 1 }, (_, index) => {
  const file = new URL(`recorded/news-version-${LINK_VERSION_MIN + index}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as Recording;
});

const bytes = (text: string): Buffer => Buffer.from(text, 'base64url');
const parsed = (message: Buffer | null): unknown => JSON.parse(message?.toString() ?? 'null');

for (const { version, route, root, header: text, fromDialler, fromDialled } of recordings) {
  test(`a connection of version ${version} is proven, and each of its messages is opened in its place`, (t) => {
    const header = readHeader(text);
    if (header === null) throw new Error('the recording has no header');
    const keys = new PeerKeys(() => [{ id: 'recorded', bytes: bytes(root) }], {
      admin: header.said.fromAdmin,
      instance: header.said.toInstance,
    });
    const { toDialled, toDialler } = keys.connectionKeys(header);
    const [dialled, dialler] = [new MessageSeals(toDialler, toDialled), new MessageSeals(toDialled, toDialler)];

    t.true(keys.isProven(route, header));
    t.deepEqual(
      fromDialler.sealed.map((sealed) => parsed(dialled.open(bytes(sealed)))),
      fromDialler.messages,
    );
    t.deepEqual(
      fromDialled.sealed.map((sealed) => parsed(dialler.open(bytes(sealed)))),
      fromDialled.messages,
    );
  });

  test(`news of version ${version} mean what they meant, and are written as they were`, (t) => {
    for (const message of fromDialler.messages) {
      const read = decodeFromDialler(Buffer.from(JSON.stringify(message)));
      t.deepEqual(read && parsed(encodeNewsMessage(read)), message);
    }
    for (const message of fromDialled.messages) {
      const read = decodeFromDialled(Buffer.from(JSON.stringify(message)));
      const written = read?.type === 'notices' ? encodeNotices(read.notices.map(writtenNews)) : null;
      t.deepEqual(read && parsed(written ?? encodeNewsMessage(read as never)), message);
    }
  });
}

test('an admin of the next version says more: what is known here is read, and the rest left out', (t) => {
  const node = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d04';
  const notices = [{ type: 'node-renamed', node }, { type: 'node-changed', node, why: 'label' }, null];

  const read = decodeFromDialled(Buffer.from(JSON.stringify({ type: 'notices', notices, at: 1 })));

  t.deepEqual(read, { type: 'notices', notices: [{ type: 'node-changed', node }] } as never);
  t.is(decodeFromDialled(Buffer.from('{"type":"hands-over"}')), null);
  t.is(decodeFromDialler(Buffer.from('no JSON')), null);
});
