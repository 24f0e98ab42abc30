/** The one connection of a page, as paths die and admins go: what is said of it, and what is asked over it. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { WebSocketServer, type ServerOptions, type WebSocket as Client } from 'ws';
import type { Api } from '../../../api/client/api.ts';
import { isNotSent } from '../../../console/failure.ts';
import { ROOT } from '../../support/source/source-text.ts';

/** As much of it as is looked at here: all of it is written for a browser. */
interface Page {
  readonly link: { readonly value: { readonly state: string }; subscribe(told: () => void): () => void };
  readonly connect: () => { readonly api: Api; readonly now: Api; close(): void };
}

interface Asked {
  readonly id: number;
  readonly params: { readonly path: string };
}

/** The connections that the page opens, as they are made. */
const opened: WebSocket[] = [];
globalThis.WebSocket = class extends WebSocket {
  constructor(...words: ConstructorParameters<typeof WebSocket>) {
    super(...words);
    opened.push(this);
  }
};
const location = { origin: '', pathname: '/console', search: '' };
Object.assign(globalThis, {
  location,
  window: new EventTarget(),
  document: { querySelector: () => null, hidden: false },
  fetch: () => Promise.resolve(Response.json({ data: { principal: 'master', admin: { name: 'a', version: '1' } } })),
});
const { link, connect } = (await import(join(ROOT, 'console/live.ts'))) as Page;

/** An admin that answers whatever it is asked; `asked`: what it was. */
async function startAdmin(t: ExecutionContext, port = 0, options: Pick<ServerOptions, 'verifyClient'> = {}) {
  const server = new WebSocketServer({ port, host: '127.0.0.1', ...options });
  await once(server, 'listening');
  const asked: string[] = [];
  server.on('connection', (client) =>
    client.on('message', (data: Buffer) => {
      if (data.toString() === 'PING') return client.send('PONG');
      for (const { id, params } of [JSON.parse(data.toString()) as Asked | Asked[]].flat()) {
        asked.push(params.path);
        client.send(JSON.stringify({ id, result: { type: 'data', data: { id: 'one', name: 'a', version: '1' } } }));
      }
    }),
  );
  const end = async (): Promise<void> => {
    for (const client of server.clients) client.terminate();
    await new Promise((resolve) => server.close(resolve));
  };
  t.teardown(end);
  const { port: at } = server.address() as AddressInfo;
  location.origin = `http://127.0.0.1:${at}`;
  return { port: at, server, end, asked: () => asked.filter((path) => path !== 'get_admin') };
}

/** A page that is connected to it. */
async function openPage(t: ExecutionContext) {
  opened.length = 0;
  const live = connect();
  t.teardown(() => live.close());
  await becomes('open');
  await live.api.get_admin.query({}); // what it asks by itself is on its way too
  const [socket] = opened;
  if (socket === undefined) throw new Error('it opens one');
  return { live, socket };
}

function becomes(state: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = link.subscribe(() => {
      if (link.value.state !== state) return;
      resolve();
      queueMicrotask(() => stop());
    });
  });
}

test.serial('a connection that took a while to close says nothing of the one that was opened meanwhile', async (t) => {
  await startAdmin(t);
  const { live, socket } = await openPage(t);

  socket.close(); // as by a sign of life that nobody answers: here nobody says either that it is closed
  t.is(socket.readyState, WebSocket.CLOSING);
  await live.api.list_nodes.query({});
  socket.dispatchEvent(new CloseEvent('close', { code: 1_006 }));

  t.is(link.value.state, 'open');
  await t.notThrowsAsync(live.api.delete_node.mutate({ id: 'one' }));
  t.is(opened.length, 2);
});

test.serial('what changes something does not wait for a connection that is only being opened', async (t) => {
  const { server, asked } = await startAdmin(t);
  const { live, socket } = await openPage(t);
  const connected = once(server, 'connection');

  socket.close();
  const question = live.api.list_nodes.query({});
  while (opened.length < 2) await Promise.resolve();
  t.is(opened[1]?.readyState, WebSocket.CONNECTING);
  t.true(isNotSent(await t.throwsAsync(live.api.delete_node.mutate({ id: 'one' }))));
  await Promise.all([question, connected]);

  t.deepEqual(asked(), ['list_nodes']);
});

test.serial('what leads to a change is refused without a connection, and not asked once there is one', async (t) => {
  const { port, end } = await startAdmin(t);
  const { live } = await openPage(t);
  const lost = becomes('lost');
  await end();
  await lost;

  const targeting = { type: 'all' } as const;
  const refused = await t.throwsAsync(live.now.preview_targeting.query({ targeting }));
  t.true(isNotSent(refused));
  t.is(refused?.message, 'There is no connection: nothing was done.');
  const shown = live.api.list_nodes.query({}); // what is only shown waits
  const { asked } = await startAdmin(t, port);
  await shown;
  await live.now.list_aliases.query({});

  t.deepEqual(asked(), ['list_nodes', 'list_aliases']);
});

test.serial('a page that is closed while it first connects leaves no connection, and dials no other', async (t) => {
  const waits = Promise.withResolvers<void>();
  const dialled = Promise.withResolvers<void>();
  let dials = 0;
  const { server, asked } = await startAdmin(t, 0, {
    verifyClient: (_info, decide) => {
      dials += 1;
      dialled.resolve();
      void waits.promise.then(() => decide(true));
    },
  });
  opened.length = 0;
  const live = connect();
  await dialled.promise;
  const connected = once(server, 'connection') as Promise<[Client]>;
  const change = t.throwsAsync(live.api.delete_node.mutate({ id: 'one' }));

  live.close();
  t.true(isNotSent(await change), 'what waited for the first connection');
  waits.resolve();
  const [client] = await connected;
  if (client.readyState !== client.CLOSED) await once(client, 'close');
  t.true(isNotSent(await t.throwsAsync(live.api.list_nodes.query({}))), 'what is asked later');

  t.deepEqual([dials, opened.length, server.clients.size, asked()], [1, 1, 0, []]);
  t.is(link.value.state, 'connecting', 'it says nothing of the one that comes after it');
});
