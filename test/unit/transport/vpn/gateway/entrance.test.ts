import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import test from 'ava';
import { openListener } from '../../../../../transport/vpn/gateway/entrance.ts';
import type { OpenListener } from '../../../../../transport/vpn/gateway/entrance.ts';
import { TUNNEL_PATH } from '../../../../../transport/protocol/version.ts';
import type { Scope } from '../../../../support/scope.ts';

async function listener(t: Scope, taken: string[] = []): Promise<OpenListener> {
  const open = await openListener('127.0.0.5', (asked, socket) => {
    taken.push(asked.url ?? '');
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
  });
  if (open === null) throw new Error('no listener');
  t.teardown(() => {
    open.close();
  });
  return open;
}

/** A request that does not come within this is cut, in ms. Source: transport/vpn/gateway/entrance.ts. */
const REQUEST_MS_MAX = 5_000;

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
): Promise<number> {
  const asked = request({ host: ipv4, port, path, headers });
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
