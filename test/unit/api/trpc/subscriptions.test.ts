/** Subscriptions over each way in: what they say, and what a client may do to them. */
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { NodesMessage } from '../../../../api/feeds/nodes-messages.ts';
import { createEncoder } from '../../../../api/trpc/encoder.ts';
import { mountTrpc } from '../../../../api/trpc/mount.ts';
import { FEED_INTERVAL_MS } from '../../../../api/feeds/limits.ts';
import {
  commandId,
  commandOf,
  executionId,
  executionOf,
  idOf,
  nodeId,
  nodeOf,
  settle,
} from '../../../support/api/rows.ts';
import { httpClient, socketClient, type Client, openSocket } from '../../../support/api/trpc-clients.ts';
import { serve, type Served } from '../../../support/api/served.ts';
import { KEYS } from '../../../support/api/fakes.ts';

const BEARER = { authorization: `Bearer ${KEYS.api}` };

const WAYS: readonly (readonly [string, (t: ExecutionContext, url: string, key: string | null) => Client])[] = [
  ['server-sent events', (_t, url, key) => httpClient(url, key)],
  ['WebSocket', socketClient],
];

for (const [way, connect] of WAYS) {
  test(`over ${way}, nodes are watched: a snapshot, then changes`, async (t) => {
    const served = await start(t);
    served.fixture.nodes.set(idOf(0), nodeOf(0));
    const watch = collect<NodesMessage>(t, (handlers) =>
      connect(t, served.url, KEYS.api).nodes.watch.subscribe({ cluster_name: 'demo' }, handlers),
    );

    await watch.count(1);
    flip(served, 'unhealthy');
    await watch.count(2);

    t.deepEqual(watch.messages, [
      { type: 'snapshot', page: 1, pages: 1, total: 1, nodes: [nodeOf(0)] },
      { type: 'changed', nodes: [{ id: idOf(0), status: 'unhealthy' }], removed: [] },
    ]);
  });

  test(`over ${way}, a subscription that cannot be had says why`, async (t) => {
    const { url } = await start(t);
    const client = connect(t, url, KEYS.api);

    t.like(await refusal(t, (handlers) => client.commands.watch.subscribe({ id: idOf(9) }, handlers)), {
      code: 'not_found',
    });
    t.like(await refusal(t, (handlers) => client.nodes.watch.subscribe({ page: 2 } as never, handlers)), {
      code: 'bad_request',
      details: { page: ['is not known'] },
    });
    t.like(await refusal(t, (handlers) => client.nodes.watch.subscribe({ status: 'healthy' } as never, handlers)), {
      details: { status: ['is not known; there is status__in'] }, // as in list_nodes
    });
    t.like(await refusal(t, (handlers) => client.events.watch.subscribe({ types: 'all' as never }, handlers)), {
      details: { types: ['must be an array'] },
    });
    t.like(await refusal(t, (handlers) => connect(t, url, 'wrong').events.watch.subscribe(undefined, handlers)), {
      code: 'unauthorized',
    });
    t.like(
      await refusal(t, (handlers) =>
        connect(t, url, KEYS.metrics).executions.tail.subscribe({ id: idOf(1) }, handlers),
      ),
      { code: 'forbidden' },
    );
  });

  test(`over ${way}, a cut subscriber goes on by itself after the last message that it saw`, async (t) => {
    const served = await start(t);
    served.fixture.nodes.set(idOf(0), nodeOf(0));
    const watch = collect<NodesMessage>(t, (handlers) =>
      connect(t, served.url, KEYS.api).nodes.watch.subscribe(undefined, handlers),
    );
    await watch.count(1);

    served.api.server.closeAllConnections();
    for (const socket of upgraded.get(served) ?? []) socket.destroy();
    flip(served, 'unreachable');
    await watch.count(2);

    t.deepEqual(
      watch.messages.map(({ type }) => type),
      ['snapshot', 'changed'],
    );
  });
}

test('a command and the output of its execution are followed to the end', async (t) => {
  const served = await start(t);
  const { fixture } = served;
  fixture.commands.set(idOf(7), commandOf(7));
  fixture.executions.set(idOf(0), executionOf(0, 7, { status: 'sent' }));
  const client = socketClient(t, served.url, KEYS.api);
  const command = collect<{ readonly type: string }>(t, (handlers) =>
    client.commands.watch.subscribe({ id: idOf(7) }, handlers),
  );
  const tail = collect<{ readonly type: string }>(t, (handlers) =>
    client.executions.tail.subscribe({ id: idOf(0) }, handlers),
  );
  await Promise.all([command.count(1), tail.count(1)]);
  await settle();

  fixture.streams[0]?.send(0, 'hello\n', true);
  fixture.executions.set(idOf(0), executionOf(0, 7, { status: 'completed', exit_code: 0, output: 'hello\n' }));
  fixture.bus.publish([
    {
      type: 'execution-changed',
      execution: executionId(0),
      command: commandId(7),
      node: nodeId(1_000),
      clusterName: 'demo',
      status: 'completed',
      exitCode: 0,
    },
  ]);
  await Promise.all([command.count(2), tail.ended]);

  t.like(command.messages[1], { type: 'changed', summary: { succeeded: 1 } });
  t.deepEqual(tail.messages.slice(1), [
    { type: 'output', offset: 0, text: 'hello\n' },
    { type: 'end', status: 'completed', exit_code: 0, output_truncated: false },
  ] as never);
});

test('what many are told is written as JSON once', (t) => {
  let written = 0;
  const shared = {
    type: 'changed',
    get nodes() {
      written += 1;
      return [];
    },
  };
  const encoder = createEncoder();
  const message = (id: number) => ({
    id,
    jsonrpc: undefined,
    result: { type: 'data', id: 'e:1', data: { id: 'e:1', data: shared } },
  });

  const texts = [1, 2, 3].map((id) => encoder.encode(message(id)) as string);

  t.is(written, 1);
  t.deepEqual(
    texts.map((text) => JSON.parse(text) as unknown),
    [1, 2, 3].map((id) => ({
      id,
      result: { type: 'data', id: 'e:1', data: { id: 'e:1', data: { type: 'changed', nodes: [] } } },
    })),
  );
});

test('a client that does not read makes the feed wait, not the memory grow', async (t) => {
  const served = await start(t);
  const big = 'v'.repeat(50_000);
  for (let n = 0; n < 200; n += 1) served.fixture.nodes.set(idOf(n), nodeOf(n, { version: big }));
  const socket = await openSocket(t, served.url, BEARER);
  socket.send(JSON.stringify({ id: 1, method: 'subscription', params: { path: 'nodes.watch', input: {} } }));
  await once(socket, 'message');
  socket.pause();
  const [server] = upgraded.get(served) ?? [];

  for (let round = 0; round < 30; round += 1) {
    const version = `${round}${big}`;
    served.fixture.nodes.forEach((node, id) => served.fixture.nodes.set(id, { ...node, version }));
    served.fixture.bus.publish(
      [...served.fixture.nodes.keys()].map((_id, n) => ({ type: 'node-changed', node: nodeId(n) })),
    );
    served.fixture.clock.advance(FEED_INTERVAL_MS);
    await settle();
  }

  t.true((server?.writableLength ?? 0) < 45_000_000, `${server?.writableLength} bytes wait`);
  t.true((server?.writableLength ?? 0) > 0);
});

test('messages over a socket that are no tRPC, too large or too deep end that call or socket, not the server', async (t) => {
  const served = await start(t);

  for (const text of [
    'nonsense',
    '[',
    '['.repeat(1_000),
    '{}',
    'null',
    JSON.stringify({ id: 1, method: 'query' }),
    JSON.stringify({ id: 2, method: 'query', params: { path: 'toString' } }),
    'x'.repeat(2_000_000),
  ]) {
    const socket = await openSocket(t, served.url, BEARER);
    socket.send(text);
    await Promise.race([once(socket, 'message'), once(socket, 'close')]);
    socket.terminate();
  }

  t.is((await socketClient(t, served.url, KEYS.api).get_admin.query({})).name, 'one');
});

test('an upgrade elsewhere is none of ours', async (t) => {
  const { url } = await start(t);
  const socket = connectTcp(Number(new URL(url).port), '127.0.0.1');
  socket.write(
    'GET /api/other HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );

  const [answer] = (await once(socket, 'data')) as [Buffer];

  t.regex(answer.toString(), /^HTTP\/1\.1 404 /u);
  socket.destroy();
});

const upgraded = new WeakMap<Served, import('node:stream').Duplex[]>();

async function start(t: ExecutionContext): Promise<Served> {
  const served = await serve(t, { mounts: ({ feeds }, clock) => [mountTrpc(feeds, clock)] });
  const sockets: import('node:stream').Duplex[] = [];
  upgraded.set(served, sockets);
  served.api.server.prependListener('upgrade', (_request, socket) => sockets.push(socket));
  return served;
}

function flip({ fixture }: Served, status: 'unhealthy' | 'unreachable'): void {
  fixture.nodes.set(idOf(0), nodeOf(0, { status }));
  fixture.bus.publish([{ type: 'node-changed', node: nodeId(0) }]);
}

interface Handlers<M> {
  onData(message: { readonly data: M }): void;
  onError(error: { readonly data?: unknown }): void;
  onComplete(): void;
}

/** What a subscription said so far; `count` resolves once it said that much. */
function collect<M>(t: ExecutionContext, subscribe: (handlers: Handlers<M>) => { unsubscribe(): void }) {
  const messages: M[] = [];
  let waiting: (() => void)[] = [];
  const over = Promise.withResolvers<void>();
  const subscription = subscribe({
    onData({ data }) {
      messages.push(data);
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
    onError: (error) => over.reject(error),
    onComplete: () => over.resolve(),
  });
  t.teardown(() => subscription.unsubscribe());
  over.promise.catch(() => {});
  const count = async (wanted: number): Promise<void> => {
    while (messages.length < wanted)
      await Promise.race([
        new Promise<void>((resolve) => {
          waiting.push(resolve);
        }),
        over.promise.then(() => {
          throw new Error('it ended');
        }),
      ]);
  };
  return { messages, count, ended: over.promise };
}

/** `data` of the error that a subscription ends with. */
async function refusal(
  t: ExecutionContext,
  subscribe: (handlers: Handlers<unknown>) => { unsubscribe(): void },
): Promise<unknown> {
  const ended = Promise.withResolvers<unknown>();
  const subscription = subscribe({
    onData: () => ended.reject(new Error('it was granted')),
    onError: ({ data }) => ended.resolve(data),
    onComplete: () => ended.reject(new Error('it completed')),
  });
  t.teardown(() => subscription.unsubscribe());
  return ended.promise;
}

test('a connection has at most 256 calls and subscriptions; it refuses one more, and another connection does not', async (t) => {
  const { url } = await start(t);
  const client = socketClient(t, url, KEYS.api);
  const watches = Array.from({ length: 256 }, () =>
    collect<unknown>(t, (handlers) => client.events.watch.subscribe(undefined, handlers)),
  );
  await Promise.all(watches.map((watch) => watch.count(1)));

  t.like(await refusal(t, (handlers) => client.events.watch.subscribe(undefined, handlers)), { code: 'rate_limited' });
  t.is((await socketClient(t, url, KEYS.api).get_admin.query({})).name, 'one');
});
