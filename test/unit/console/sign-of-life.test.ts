/** A page whose admin is silent: it asks when somebody comes, and gives a connection up on which nothing answers. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { WebSocketServer } from 'ws';
import { askForSignsOfLife } from '../../../console/sign-of-life.ts';

/** A page with its connection, and what the admin hears on it. `answers`: or else it says nothing. */
async function openPage(
  t: ExecutionContext,
  {
    answers,
    silenceMs,
    quietMs = null,
  }: { answers: string | Buffer | null; silenceMs: number; quietMs?: number | null },
) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  const heard: string[] = [];
  server.on('connection', (client) => {
    client.on('message', (data: Buffer) => {
      heard.push(data.toString());
      if (answers !== null) client.send(answers);
    });
  });
  const page = new EventTarget();
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  // one that answers has all the time that a busy machine takes
  askForSignsOfLife(socket, page, { question: 'PING', silenceMs, answerMs: answers === null ? 50 : 600_000, quietMs });
  await once(socket, 'open');
  return { page, socket, heard };
}

for (const [what, answers] of [
  ['answers', 'PONG'],
  ['sends bytes before it can answer', Buffer.from([1])],
] as const)
  test(`an admin that ${what} is asked whenever somebody does something after a silence`, async (t) => {
    const { page, socket, heard } = await openPage(t, { answers, silenceMs: 0 });

    for (const event of ['keydown', 'focus', 'online']) {
      const answered = once(socket, 'message');
      page.dispatchEvent(new Event(event));
      page.dispatchEvent(new Event(event)); // it is asked already
      await answered;
    }

    t.deepEqual(heard, ['PING', 'PING', 'PING']);
    t.is(socket.readyState, WebSocket.OPEN);
  });

test('a connection on which nothing answers is closed', async (t) => {
  const { page, socket, heard } = await openPage(t, { answers: null, silenceMs: 0 });
  const closed = once(socket, 'close');

  page.dispatchEvent(new Event('pointerdown'));
  await closed;
  page.dispatchEvent(new Event('pointerdown'));

  t.deepEqual(heard, ['PING']);
});

test('an admin that said something a moment ago is not asked', async (t) => {
  const { page, socket, heard } = await openPage(t, { answers: 'PONG', silenceMs: 600_000 });
  const answered = once(socket, 'message');

  page.dispatchEvent(new Event('keydown'));
  socket.send('last');
  await answered;

  t.deepEqual(heard, ['last']);
});

test('a connection of which nobody else asks is asked after a silence though nobody does anything', async (t) => {
  const { socket, heard } = await openPage(t, { answers: null, silenceMs: 1, quietMs: 20 });

  await once(socket, 'close');

  t.deepEqual(heard, ['PING']);
});
