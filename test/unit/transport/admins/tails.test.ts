/** Live output that one admin asks of another, over real HTTP servers. */
import test from 'ava';
import { WebSocket } from 'ws';
import type { LiveOutput, TailSource } from '../../../../api/feeds/ports.ts';
import { NEWS_FRAME_BYTES_MAX, TAIL_UNREAD_BYTES_MAX } from '../../../../transport/admins/limits.ts';
import { MessageSeals } from '../../../../transport/admins/message-seals.ts';

import { decodeFromDialled, encodeNewsMessage, type FromDialled } from '../../../../transport/admins/protocol/news.ts';
import { LINK_VERSION_TAILS, NEWS_PATH, PEER_HEADER } from '../../../../transport/admins/protocol/version.ts';
import { routeOf } from '../../../../transport/admins/sealed-connections.ts';
import { CommandId, ExecutionId, NodeId } from '../../../../transport/protocol/ids.ts';
import { keysOf, linkedAdmins, type LinkedAdmin } from '../../../support/linked-admins.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

const id = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
const place = (n: number, offset = 0) => ({ node: NodeId.parse(id(1)), execution: ExecutionId.parse(id(n)), offset });
const PIECE = 'x'.repeat(65_536);

/** An owner whose executions say what a test has them say. */
class Outputs implements TailSource {
  readonly left: string[] = [];
  isOwner = true;
  readonly #said = new Map<string, { text: string; isOver: boolean; wake: () => void; next: Promise<void> }>();

  isHere(): boolean {
    return this.isOwner;
  }

  say(n: number, text: string, isOver = false): void {
    const one = this.#of(id(n));
    one.text += text;
    one.isOver = isOver;
    one.wake();
  }

  async liveOutput(execution: string, offset: number, signal: AbortSignal): Promise<LiveOutput> {
    const one = this.#of(execution);
    signal.addEventListener('abort', () => one.wake());
    let at = offset;
    return Promise.resolve({
      get offset() {
        return at;
      },
      take: () => {
        const text = one.text.slice(at, at + PIECE.length);
        at += text.length;
        return text === '' ? null : { offset: at - text.length, text };
      },
      news: async () => (signal.aborted ? Promise.resolve() : one.next),
      isComplete: () => one.isOver && at === one.text.length,
      isOver: () => one.isOver,
      leave: () => void this.left.push(execution),
    });
  }

  #of(execution: string) {
    const known = this.#said.get(execution);
    if (known !== undefined) return known;
    const one = { text: '', isOver: false, wake: () => {}, next: Promise.resolve() };
    const renew = (): void => {
      const { promise, resolve } = Promise.withResolvers<void>();
      one.next = promise;
      one.wake = () => {
        renew();
        resolve();
      };
    };
    renew();
    this.#said.set(execution, one);
    return one;
  }
}

/** Two admins, of which `a` hears news of `b`, which has these outputs. */
async function tailing(t: Scope) {
  const { a, b } = await linkedAdmins(t);
  const outputs = new Outputs();
  b.tails = outputs;
  a.links.news.want('feeds', { nodes: true, commands: new Set() });
  await until('a connection', () => b.upgraded.length === 1);
  return { a, b, outputs };
}

/** What a tail at `a` hears. */
function follow({ a, b }: { readonly a: LinkedAdmin; readonly b: LinkedAdmin }, n: number, offset = 0) {
  const heard = { text: '', offsets: [] as number[], isOver: false, isLost: false };
  const close = a.links.tails.open(
    b.id,
    place(n, offset),
    (piece) => {
      heard.offsets.push(piece.offset);
      heard.text += piece.text;
      heard.isOver ||= piece.end;
    },
    () => {
      heard.isLost = true;
    },
  );
  return { heard, close };
}

test('output is told as it comes, from the byte that was asked for, until its end', async (t) => {
  const admins = await tailing(t);
  admins.outputs.say(7, 'one ');
  const { heard } = follow(admins, 7, 2);

  await until('the first piece', () => heard.text === 'e ');
  admins.outputs.say(7, 'two');
  await until('the second', () => heard.text === 'e two');
  admins.outputs.say(7, '!', true);
  await until('the end', () => heard.isOver);

  t.deepEqual(heard, { text: 'e two!', offsets: [2, 4, 7, 8], isOver: true, isLost: false });
  await until('that the owner has nobody to tell', () => admins.outputs.left.length === 1);
});

test('a tail that is ended here ends at the owner', async (t) => {
  const admins = await tailing(t);
  const { heard, close } = follow(admins, 7);
  admins.outputs.say(7, 'one');
  await until('the first piece', () => heard.text === 'one');

  close?.();
  await until('that the owner has nobody to tell', () => admins.outputs.left.length === 1);

  admins.outputs.say(7, 'two');
  t.deepEqual([heard.text, heard.isLost], ['one', false]);
});

test('who is not the owner, or not any more, says so, and the owner is to be looked for', async (t) => {
  const admins = await tailing(t);
  const { heard } = follow(admins, 7);
  admins.outputs.say(7, 'one');
  await until('the first piece', () => heard.text === 'one');

  admins.outputs.isOwner = false;
  admins.b.saw(admins.a.row, admins.b.row); // a round of its ownership
  await until('word of it', () => heard.isLost);
  const late = follow(admins, 8);
  await until('word of it at once', () => late.heard.isLost);

  t.deepEqual([heard.text, late.heard.text], ['one', '']);
});

test('a connection that is lost loses its tails, and a tail that comes before the next one waits for it', async (t) => {
  const admins = await tailing(t);
  const { heard } = follow(admins, 7);
  admins.outputs.say(7, 'one');
  await until('the first piece', () => heard.text === 'one');

  admins.b.upgraded[0]?.destroy();
  await until('word of it', () => heard.isLost);
  const again = follow(admins, 7, heard.text.length);
  admins.outputs.say(7, ' two');
  await until('the rest', () => again.heard.text === ' two');

  t.is(admins.b.upgraded.length, 2);
});

test('an admin of the version before offers no tails', async (t) => {
  const admins = await tailing(t);
  const { a, b } = admins;

  a.saw(a.row, { ...b.row, linkVersion: LINK_VERSION_TAILS - 1 });

  t.is(follow(admins, 7).close, null);
});

test('an admin that does not read what it is told gets so much and no more, and all news and other tails all the same', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const outputs = new Outputs();
  b.tails = outputs;
  const reader = await heardBy(t, a, b);
  reader.say({ type: 'want', n: 1, wanted: { nodes: true, commands: new Set([CommandId.parse(id(3))]) } });
  await until('word that it is told', () => reader.heard.length === 1);

  reader.say({ type: 'tail', n: 1, ...place(7) });
  outputs.say(7, PIECE.repeat(100));
  await until('what may be unread', () => reader.bytes() >= TAIL_UNREAD_BYTES_MAX);
  reader.say({ type: 'tail', n: 2, ...place(8) });
  outputs.say(8, 'of another');
  b.bus.publish([{ type: 'node-changed', node: NodeId.parse(id(9)) }]);
  await until('the news', () => reader.heard.some(({ type }) => type === 'notices'));
  const unread = reader.bytes();
  reader.say({ type: 'tail-read', bytes: reader.messageBytes() });
  await until('the other output', () => reader.heard.some((said) => said.type === 'tail-output' && said.n === 2));

  t.true(unread < TAIL_UNREAD_BYTES_MAX + PIECE.length, String(unread));
});

/** A connection of news from `a` to `b` on which a test says what it likes. */
async function heardBy(t: Scope, a: LinkedAdmin, b: LinkedAdmin) {
  const keys = keysOf(a);
  const header = keys.header(routeOf(NEWS_PATH), b.instanceId, Date.now());
  const { toDialled, toDialler } = keys.connectionKeys(header);
  const seals = new MessageSeals(toDialled, toDialler);
  const heard: FromDialled[] = [];
  let messageBytes = 0;
  const socket = new WebSocket(`${b.served.url.replace('http', 'ws')}${NEWS_PATH}`, {
    headers: { [PEER_HEADER]: header.text },
    maxPayload: 2 * NEWS_FRAME_BYTES_MAX,
  });
  t.teardown(() => socket.terminate());
  socket.on('message', (data: Buffer) => {
    const message = seals.open(data);
    const said = message && decodeFromDialled(message);
    if (said?.type === 'tail-output') messageBytes += message?.byteLength ?? 0;
    if (said != null) heard.push(said);
  });
  await new Promise((resolve) => void socket.once('open', resolve));
  return {
    heard,
    messageBytes: () => messageBytes,
    bytes: () => heard.reduce((sum, said) => sum + (said.type === 'tail-output' ? said.text.length : 0), 0),
    say: (said: Parameters<typeof encodeNewsMessage>[0]) => socket.send(seals.seal(encodeNewsMessage(said))),
  };
}
