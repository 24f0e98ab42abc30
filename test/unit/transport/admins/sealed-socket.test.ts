/** Messages between admins, each sealed for its place: whatever comes of them otherwise ends the connection. */
import { createSecretKey } from 'node:crypto';
import { createServer } from 'node:http';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { WebSocket, WebSocketServer } from 'ws';
import { LINK_PING_MS, LINK_SILENCE_MS_MAX } from '../../../../transport/admins/limits.ts';
import { MessageSeals } from '../../../../transport/admins/message-seals.ts';
import { SealedSocket } from '../../../../transport/admins/sealed-socket.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { listening } from '../../../support/net/listening.ts';
import { until } from '../../../support/until.ts';

const keyOf = (byte: number) => createSecretKey(Buffer.alloc(32, byte));
const KEYS = [keyOf(1), keyOf(2)] as const;
const MESSAGES = ['first', 'second', 'third'].map((text) => Buffer.from(text));

/** A sealed socket over real sockets, and the bare other end, which says whatever the test wants. */
async function pair(t: ExecutionContext) {
  const server = createServer();
  const sockets = new WebSocketServer({ server });
  const port = await listening(t, server);
  const bare = new WebSocket(`ws://127.0.0.1:${port}`);
  const [[socket]] = await Promise.all([once(sockets, 'connection') as Promise<[WebSocket]>, once(bare, 'open')]);
  const clock = createFakeClock();
  const heard: string[] = [];
  const closed: string[] = [];
  let ticks = 0;
  const sealed = new SealedSocket(
    socket,
    { seals: new MessageSeals(KEYS[0], KEYS[1]), clock, monotonicMs: () => clock.nowMs() },
    {
      heard: (message) => void heard.push(message.toString()),
      tick: () => void (ticks += 1),
      closed: (why) => void closed.push(why),
    },
  );
  t.teardown(() => bare.terminate());
  return { sealed, bare, heard, closed, clock, ticks: () => ticks, other: new MessageSeals(KEYS[1], KEYS[0]) };
}

test('what is sealed in order is heard in order, both ways', async (t) => {
  const { sealed, bare, heard, closed, other } = await pair(t);
  const came: (string | undefined)[] = [];
  bare.on('message', (data) => came.push(other.open(data as Buffer)?.toString()));

  for (const message of MESSAGES) bare.send(other.seal(message));
  for (const message of MESSAGES) sealed.send(message);
  await until('all of them', () => heard.length === 3 && came.length === 3);

  t.deepEqual([heard, came, closed], [['first', 'second', 'third'], ['first', 'second', 'third'], []]);
});

/** What somebody between the two may do to three sealed messages; the first is left as it is. */
const FAULTS: Readonly<Record<string, (sealed: readonly Buffer[]) => readonly (Buffer | string)[]>> = {
  'a bit of the text that was turned': ([one, two]) => [one!, turned(two!, -1)],
  'a bit of the tag that was turned': ([one, two]) => [one!, turned(two!, 0)],
  'one that comes a second time': ([one]) => [one!, one!],
  'one that is left out': ([one, , three]) => [one!, three!],
  'two that come the wrong way round': ([one, two, three]) => [one!, three!, two!],
  'one that is cut short': ([one, two]) => [one!, two!.subarray(0, 20)],
  'one that is empty': ([one]) => [one!, Buffer.alloc(0)],
  'one in clear': ([one]) => [one!, '{"type":"missed"}'],
  'one of the other direction': ([one]) => [one!, secondOf(new MessageSeals(KEYS[0], KEYS[1]))],
  'one of another connection': ([one]) => [one!, secondOf(new MessageSeals(keyOf(3), KEYS[0]))],
};

for (const [name, made] of Object.entries(FAULTS))
  test(`${name} ends the connection, and nothing of it is heard`, async (t) => {
    const { bare, heard, closed, other } = await pair(t);

    for (const frame of made(MESSAGES.map((message) => other.seal(message)))) bare.send(frame);
    await until('the end', () => closed.length > 0);
    await until('the end of the other side', () => bare.readyState === WebSocket.CLOSED);

    t.deepEqual([heard, closed], [['first'], ['said what was not sealed for it']]);
  });

test('silence ends it, and every message is a sign of life', async (t) => {
  const { bare, heard, closed, clock, ticks, other } = await pair(t);

  for (let passedMs = 0; passedMs < 2 * LINK_SILENCE_MS_MAX; passedMs += LINK_PING_MS) {
    bare.send(other.seal(Buffer.from('alive')));
    const expected = heard.length + 1;
    await until('a message', () => heard.length === expected);
    clock.pass(LINK_PING_MS);
  }
  const before = [...closed];
  clock.pass(LINK_SILENCE_MS_MAX);

  t.deepEqual([before, closed], [[], ['was silent']]);
  t.true(ticks() >= (2 * LINK_SILENCE_MS_MAX) / LINK_PING_MS);
});

function turned(sealed: Buffer, at: number): Buffer {
  const copy = Buffer.from(sealed);
  const place = at < 0 ? copy.length + at : at;
  copy.writeUInt8(copy.readUInt8(place) ^ 1, place);
  return copy;
}

/** Sealed for the second place. */
function secondOf(seals: MessageSeals): Buffer {
  seals.seal(Buffer.from('first'));
  return seals.seal(Buffer.from('second'));
}
