/**
 * A stream to a server of an agent stays open between two requests: as long as its agent wants, in a number that is
 * bounded, and only while nothing comes unasked.
 *
 * Promises: E5, L1.
 */
import type { Socket } from 'node:net';
import v8 from 'node:v8';
import vm from 'node:vm';
import test, { type ExecutionContext } from 'ava';
import { AgentRequests, type AgentRequest } from '../../../../transport/tunnels/agent-requests.ts';
import { target } from '../../../support/net/listening.ts';
import { NODE, tunnelsFixture } from '../../../support/net/tunnels-fixture.ts';
import { until } from '../../../support/until.ts';
import { answer, portsOf } from '../metrics/fixture.ts';

const METRICS: AgentRequest = { server: 'host_metrics', path: '/metrics', bytesMax: 10_000, msMax: 30_000 };
const KEEPS = { 'Keep-Alive': 'timeout=75' };

/** Asks an agent at which `asked` is called with each request: how many came before on its connection, and in all. */
async function keeping(t: ExecutionContext, asked: (socket: Socket, onIt: number, inAll: number) => void, keptMax = 8) {
  const { tunnels } = await tunnelsFixture(t);
  const sockets: Socket[] = [];
  let inAll = 0;
  const port = await target(t, (socket) => {
    sockets.push(socket);
    let onIt = 0;
    socket.on('data', () => {
      asked(socket, onIt, inAll);
      onIt += 1;
      inAll += 1;
    });
  });
  const ports = { ...portsOf(port) };
  let lookUps = 0;
  let isThere = true;
  const requests = new AgentRequests({
    tunnels,
    endpointOf: async () => {
      lookUps += 1;
      return isThere ? { ports, tokenHash: Buffer.from('hash') } : null;
    },
    keptMax,
  });
  const forget = (): void => {
    isThere = false;
  };
  const get = async (wanted: Partial<AgentRequest> = {}): Promise<string> => {
    const got = await requests.get(NODE, { ...METRICS, ...wanted });
    return got.ok ? got.body.toString('utf8') : got.message;
  };
  return { requests, tunnels, sockets, get, ports, forget, lookUps: () => lookUps };
}

test('requests to one server of a node share a stream, and another server has its own', async (t) => {
  const { get, sockets, requests } = await keeping(t, (socket, _onIt, inAll) =>
    socket.write(answer(`${inAll}`, KEEPS)),
  );

  const [first, second] = [await get(), await get()];
  const other = await get({ server: 'api' });
  const [again, otherAgain] = [await get(), await get({ server: 'api' })];

  t.deepEqual([first, second, other, again, otherAgain], ['0', '1', '2', '3', '4']);
  t.is(sockets.length, 2);
  t.is(requests.kept, 2);
});

test('those that are asked at once have a stream each, of which one is kept', async (t) => {
  const waiting: Socket[] = [];
  const { get, sockets, requests } = await keeping(t, (socket) => {
    waiting.push(socket);
    if (waiting.length === 3) for (const one of waiting) one.write(answer('up 1\n', KEEPS));
  });

  t.deepEqual(await Promise.all([get(), get(), get()]), ['up 1\n', 'up 1\n', 'up 1\n']);

  t.is(sockets.length, 3);
  t.is(requests.kept, 1);
  await until('the end of the others', () => sockets.filter(({ destroyed }) => destroyed).length === 2);
});

test('a stream that its agent closes meanwhile is replaced, and nobody sees it', async (t) => {
  const { get, sockets } = await keeping(t, (socket, onIt) => {
    if (onIt === 0) socket.write(answer('up 1\n', KEEPS));
    else socket.destroy();
  });

  t.deepEqual([await get(), await get()], ['up 1\n', 'up 1\n']);
  t.is(sockets.length, 2);
});

test('what broke off on a new stream, or after something came, is not asked for again', async (t) => {
  const { get, sockets } = await keeping(t, (socket, onIt) => {
    if (onIt === 0) socket.write(answer('up 1\n', KEEPS));
    else socket.end('HTTP/1.1 200 OK\r\n');
  });
  const gone = await keeping(t, (socket) => socket.destroy());

  t.is(await get(), 'up 1\n');
  t.regex(await get(), /broke off/u);
  t.is(sockets.length, 1);
  t.regex(await gone.get(), /broke off/u);
  t.is(gone.sockets.length, 1);
});

test('a stream goes when its agent says so, at once or in time', async (t) => {
  const { get, sockets, requests } = await keeping(t, (socket, _onIt, inAll) => {
    if (inAll === 0) socket.end(answer('closes', { Connection: 'close' }));
    else socket.write(answer('for a second', { 'Keep-Alive': 'timeout=2' }));
  });

  t.is(await get(), 'closes');
  t.is(requests.kept, 0);
  await until('its end', () => sockets[0]?.destroyed === true);

  t.is(await get(), 'for a second');
  t.is(requests.kept, 1);
  await until('its end', () => sockets[1]?.destroyed === true);
  t.is(requests.kept, 0);
});

test('a stream goes when its agent ends it, or says something that nobody asked for', async (t) => {
  for (const ends of [true, false]) {
    const { get, sockets, requests } = await keeping(t, (socket, _onIt, inAll) =>
      socket.write(answer(`${inAll}`, KEEPS)),
    );
    t.is(await get(), '0');
    t.is(requests.kept, 1);

    if (ends) sockets[0]?.end();
    else sockets[0]?.write(answer('a lie', KEEPS));

    await until('its end', () => requests.kept === 0);
    t.is(await get(), '1');
    t.is(sockets.length, 2);
  }
});

test('streams that are kept are bounded in number, and the end of a tunnel ends them', async (t) => {
  const { get, requests, tunnels, sockets } = await keeping(
    t,
    (socket, _onIt, inAll) => socket.write(answer(`${inAll}`, KEEPS)),
    1,
  );
  await get();
  await get({ server: 'api' });

  t.is(requests.kept, 1);
  await until('the end of the other', () => sockets[1]?.destroyed === true);
  t.false(sockets[0]?.destroyed);

  tunnels.end(NODE);
  await until('the end of all', () => requests.kept === 0);
  t.is(await get(), '2');
});

test('a stream that is kept holds nothing of the answer that came by it', async (t) => {
  const BYTES = Buffer.poolSize; // in memory of its own
  const { requests } = await keeping(t, (socket) => socket.write(answer('x'.repeat(BYTES), KEEPS)));
  const ask = async (): Promise<WeakRef<ArrayBufferLike>> => {
    const got = await requests.get(NODE, { ...METRICS, bytesMax: BYTES });
    return new WeakRef(got.ok ? got.body.buffer : new ArrayBuffer(0));
  };
  const body = await ask();

  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc') as () => void;
  await until('the end of the answer', () => {
    collect();
    return body.deref() === undefined;
  });
  t.is(requests.kept, 1);
});

test('where a stream is kept nobody looks for the server again; where it turns out to be closed, somebody does', async (t) => {
  const { get, ports, lookUps } = await keeping(t, (socket, onIt) => {
    if (onIt < 2) socket.write(answer('before', KEEPS));
    else socket.destroy();
  });
  const moved = await target(t, (socket) => {
    socket.once('data', () => socket.write(answer('since', KEEPS)));
  });
  t.deepEqual([await get(), await get()], ['before', 'before']);
  t.is(lookUps(), 1);

  ports.host_metrics_port = moved;

  t.is(await get(), 'since');
  t.is(lookUps(), 2);
});

test('a node that was deleted is unknown as soon as its tunnel ended', async (t) => {
  const { get, tunnels, forget } = await keeping(t, (socket) => socket.write(answer('up 1\n', KEEPS)));
  t.is(await get(), 'up 1\n');

  forget();
  tunnels.end(NODE);

  t.is(await get(), 'There is no such node.');
});

test('a request that is given up takes its stream along', async (t) => {
  const given = new AbortController();
  const { get, sockets, requests } = await keeping(t, (socket, onIt) => {
    if (onIt === 0) socket.write(answer('up 1\n', KEEPS));
    else given.abort();
  });
  await get();

  t.regex(await get({ signal: given.signal }), /Nobody waits/u);

  t.is(requests.kept, 0);
  await until('its end', () => sockets[0]?.destroyed === true);
});
