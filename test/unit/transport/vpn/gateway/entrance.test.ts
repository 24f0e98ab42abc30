import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { openListener } from '../../../../../transport/vpn/gateway/entrance.ts';
import type { OpenListener } from '../../../../../transport/vpn/gateway/entrance.ts';
import { TUNNEL_PATH } from '../../../../../transport/protocol/version.ts';
import type { Scope } from '../../../../support/scope.ts';
import { until } from '../../../../support/until.ts';

async function listener(t: Scope, taken: string[] = []): Promise<OpenListener> {
  const open = await openListener('127.0.0.5', (asked, socket) => {
    taken.push(asked.url ?? '');
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
    socket.resume().on('end', () => socket.end());
  });
  if (open === null) throw new Error('no listener');
  t.teardown(() => {
    open.close();
  });
  return open;
}

/** A request that does not come within this is cut, in ms. Source: transport/vpn/gateway/entrance.ts. */
const REQUEST_MS_MAX = 5_000;

/** Connections of one address at once. Source: transport/vpn/gateway/entrance.ts. */
const MEMBER_CONNECTIONS_MAX = 8;

const TRIES_MAX = 5;

/** The status of an answer; 0: there was none. One that this process was held up beside is asked for again. */
async function ask(...asked: Parameters<typeof askOnce>): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const beganMs = performance.now();
    const status = await askOnce(...asked);
    if (performance.now() - beganMs < REQUEST_MS_MAX) return status;
  }
  throw new Error(`no answer within ${REQUEST_MS_MAX} ms, ${TRIES_MAX} times`);
}

async function askOnce(
  { ipv4, port }: OpenListener,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  from = '127.0.0.1',
): Promise<number> {
  const asked = request({ host: ipv4, port, path, headers, localAddress: from });
  const { promise, resolve } = Promise.withResolvers<number>();
  asked.on('response', (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  asked.on('upgrade', (_response, socket) => {
    socket.destroy();
    resolve(101);
  });
  asked.on('error', () => resolve(0));
  asked.end();
  asks.set(path, (asks.get(path) ?? 0) + (headers['upgrade'] === undefined ? 0 : 1));
  return promise;
}

/** Upgrades that were asked for, by path. */
const asks = new Map<string, number>();

const UPGRADE = { connection: 'Upgrade', upgrade: 'websocket' };

test('only tunnels are served in the VPN', async (t) => {
  const taken: string[] = [];
  const open = await listener(t, taken);
  asks.clear();

  t.is(await ask(open, TUNNEL_PATH, UPGRADE), 101);
  t.is(await ask(open, '/api/v1/agents/session', UPGRADE), 0);
  t.is(await ask(open, `${TUNNEL_PATH}?x=1`, UPGRADE), 0);
  for (const path of ['/', '/healthz', '/api/v1/nodes', TUNNEL_PATH, '/mcp']) t.is(await ask(open, path), 404, path);
  t.deepEqual(
    taken,
    Array.from({ length: asks.get(TUNNEL_PATH) ?? 0 }, () => TUNNEL_PATH),
  );
});

/** Connects from this address, and says nothing or this. */
async function connected(t: Scope, { ipv4, port }: OpenListener, from: string, says = ''): Promise<Socket> {
  const socket = connect({ host: ipv4, port, localAddress: from }).on('error', () => {});
  t.teardown(() => void socket.destroy());
  await once(socket, 'connect');
  socket.resume().write(says);
  return socket;
}

test('silent connections of one address beyond its bound are closed, and another address gets in', async (t) => {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const open = await listener(t);
    const beganMs = performance.now();
    const silent: Socket[] = [];
    while (silent.length < 20) silent.push(await connected(t, open, '127.0.0.21'));
    await until('those beyond the bound', () => silent.slice(MEMBER_CONNECTIONS_MAX).every(({ closed }) => closed));
    const held = silent.filter(({ closed }) => !closed).length;
    const other = await askOnce(open, '/', {}, '127.0.0.22');
    const same = await askOnce(open, '/', {}, '127.0.0.21');
    if (performance.now() - beganMs >= REQUEST_MS_MAX) continue; // then silence is over anyway
    return t.deepEqual({ held, other, same }, { held: MEMBER_CONNECTIONS_MAX, other: 404, same: 0 });
  }
  return t.fail(`not within ${REQUEST_MS_MAX} ms, ${TRIES_MAX} times`);
});

test('a member that ended a tunnel has room for another', async (t) => {
  const taken: string[] = [];
  const open = await listener(t, taken);
  const upgrade = `GET ${TUNNEL_PATH} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`;
  const tunnels: Socket[] = [];
  while (tunnels.length < MEMBER_CONNECTIONS_MAX) tunnels.push(await connected(t, open, '127.0.0.23', upgrade));
  await until('all tunnels', () => taken.length === MEMBER_CONNECTIONS_MAX);
  const refused = await connected(t, open, '127.0.0.23', upgrade);
  await until('the end of one that is too many', () => refused.closed);

  tunnels[0]?.destroy();
  await until('another one', async () => {
    await connected(t, open, '127.0.0.23', upgrade);
    return taken.length > MEMBER_CONNECTIONS_MAX;
  });

  t.is(tunnels.slice(1).filter(({ closed }) => closed).length, 0);
});

test('a listener that is closed cuts what came in by it', async (t) => {
  const open = await listener(t);
  const socket = connect(open.port, open.ipv4);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(`GET ${TUNNEL_PATH} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`);
  await once(socket, 'data');

  open.close();

  await once(socket, 'close');
  t.is(await ask(open, '/'), 0);
});

test('there is no listener at an address that this machine does not have', async (t) => {
  t.is(await openListener('203.0.113.77', () => {}), null);
});
