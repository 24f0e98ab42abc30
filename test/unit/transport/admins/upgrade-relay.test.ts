/** Tunnels that came to one admin and are another one's. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { WebSocket } from 'ws';
import { CARRIED_STREAMS_MAX, RELAY_OPEN_MS_MAX, RELAYS_OPENING_MAX } from '../../../../transport/admins/limits.ts';
import { Peers } from '../../../../transport/admins/peers.ts';
import { PeerProofs } from '../../../../transport/admins/peer-proofs.ts';
import { PEER_HEADER, RELAYED_HEADER } from '../../../../transport/admins/protocol/version.ts';
import { TUNNEL_ROUTE, UpgradeRelay, type UpgradeRelayPorts } from '../../../../transport/admins/upgrade-relay.ts';
import { TUNNEL_PATH, TUNNEL_SUBPROTOCOL } from '../../../../transport/protocol/version.ts';
import { LIFE_MS_MAX } from '../../../../transport/net/streams/join.ts';
import { newToken, tagOf } from '../../../../transport/tunnels/token.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { keysOf, linkedAdmins, startLinked, type LinkedAdmin } from '../../../support/linked-admins.ts';
import { silentLog } from '../../../support/log.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { openGate, raw, SWITCHED } from './upgrade-relay-fixture.ts';

/** An agent that comes to an admin with this token: its WebSocket, or the status that it gets. */
async function come(
  t: Scope,
  url: string,
  token: string,
  headers: Record<string, string> = {},
): Promise<WebSocket | number> {
  const socket = new WebSocket(url.replace('http', 'ws') + TUNNEL_PATH, TUNNEL_SUBPROTOCOL, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    perMessageDeflate: false,
  });
  t.teardown(() => socket.terminate());
  const { promise, resolve } = Promise.withResolvers<WebSocket | number>();
  socket.on('error', () => resolve(0));
  socket.on('open', () => resolve(socket));
  socket.on('unexpected-response', (_request, response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  return await promise;
}

/** What comes back of this. */
async function echoed(socket: WebSocket | number, bytes: Buffer): Promise<Buffer> {
  if (typeof socket === 'number') throw new Error(`it got the status ${socket}`);
  const pieces: Buffer[] = [];
  socket.on('message', (piece: Buffer) => pieces.push(piece));
  for (let at = 0; at < bytes.length; at += 60_000) socket.send(bytes.subarray(at, at + 60_000));
  await until('all of it', () => pieces.reduce((sum, { length }) => sum + length, 0) >= bytes.length);
  return Buffer.concat(pieces);
}

test('a tunnel at the wrong admin reaches the admin that waits for it, to the byte, and its token crosses sealed', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const token = newToken(tagOf(b.id));
  const [atA, atB] = [openGate(a, null), openGate(b, token)];
  const bytes = randomBytes(3_000_000);

  const back = await echoed(await come(t, a.served.url, token, { 'x-other': 'thing' }), bytes);

  t.true(back.equals(bytes));
  t.deepEqual([atA.seen.length, atA.wrong, atB.seen.length, atB.wrong], [1, 0, 1, 0]);
  const crossed = JSON.stringify(atB.seen[0]?.rawHeaders);
  t.false(crossed.includes(token.slice(13)));
  t.false(crossed.includes('x-other'));
});

test('a token that its admin does not know is a 401, counted where the agent came; one of nobody alive goes nowhere', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const [atA, atB] = [openGate(a, null), openGate(b, null)];

  const ofB = await come(t, a.served.url, newToken(tagOf(b.id)));
  const asked = atB.seen.length;
  const ofNobody = await come(t, a.served.url, newToken('0123456789ab'));
  const own = await come(t, a.served.url, newToken(tagOf(a.id)));
  const old = await come(t, a.served.url, randomBytes(32).toString('base64url'));

  t.deepEqual([ofB, ofNobody, own, old], [401, 401, 401, 401]);
  t.deepEqual([asked, atB.seen.length, atA.wrong, atB.wrong], [1, 1, 4, 0]);
});

test('what was passed on goes no further: an address that leads to another admin is no way', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const c = await startLinked(t, 'c');
  const token = newToken(tagOf(b.id));
  const [atB, atC] = [openGate(b, token), openGate(c, null)];
  openGate(a, null);
  a.saw(a.row, { ...b.row, peerUrl: c.served.url }, c.row);
  c.saw(a.row, b.row, c.row);
  for (const peer of a.links.peers.all()) a.links.peers.ponged(peer, { opens_relayed: true });

  const status = await come(t, a.served.url, token);

  t.is(status, 503);
  t.deepEqual([atB.seen.length, atC.seen.length, atC.wrong], [0, 1, 0]);
});

test('only an admin passes tunnels on: without its proof, with an old one, or one of something else it is a 401', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const token = newToken(tagOf(b.id));
  const atB = openGate(b, token);
  const keys = keysOf(a);
  const by = (route: string, to: string, atMs: number, sealed = token): Record<string, string> => {
    const header = keys.header(route, to, atMs);
    return {
      [PEER_HEADER]: header.text,
      [RELAYED_HEADER]: keys.sealCall(header, Buffer.from(sealed)).toString('base64url'),
      authorization: '',
    };
  };
  const right = by(TUNNEL_ROUTE, b.instanceId, Date.now());
  const other = by(TUNNEL_ROUTE, b.instanceId, Date.now());
  const tries = {
    'another route': by('POST /internal/v1/call', b.instanceId, Date.now()),
    'too old': by(TUNNEL_ROUTE, b.instanceId, Date.now() - 60_000),
    'sealed for another header': { ...right, [RELAYED_HEADER]: other[RELAYED_HEADER] ?? '' },
    'shown again': right,
    'no token': { [PEER_HEADER]: by(TUNNEL_ROUTE, b.instanceId, Date.now())[PEER_HEADER] ?? '' },
    'no proof': { [RELAYED_HEADER]: right[RELAYED_HEADER] ?? '' },
  };

  const statuses: unknown[] = [];
  for (const headers of Object.values(tries)) statuses.push(await come(t, b.served.url, 'x'.repeat(43), headers));
  const another = await come(t, b.served.url, token, by(TUNNEL_ROUTE, a.instanceId, Date.now()));
  const last = await come(t, b.served.url, 'x'.repeat(43), other);

  t.deepEqual(
    statuses,
    Object.keys(tries).map(() => 401),
  );
  t.is(another, 421);
  t.true(last instanceof WebSocket, 'nothing of that spent the token');
  t.is(atB.seen.length, 8);
});

test('an end goes one way: what is said after it comes back', async (t) => {
  const { a, b } = await linkedAdmins(t);
  openGate(a, null);
  b.served.api.onUpgrade(TUNNEL_PATH, (request, carrier, head) => {
    const socket = opened(b, request, carrier, head);
    socket.write(SWITCHED);
    void text(socket).then((said) => socket.end(`you said ${said}`));
  });

  const socket = await raw(t, a, newToken(tagOf(b.id)));
  socket.end('good morning');

  t.regex(await text(socket), /^HTTP\/1\.1 101 .*\r\n\r\nyou said good morning$/su);
});

test('what an agent says after the admin has ended comes there', async (t) => {
  const { a, b } = await linkedAdmins(t);
  openGate(a, null);
  const { promise, resolve } = Promise.withResolvers<string>();
  b.served.api.onUpgrade(TUNNEL_PATH, (request, carrier, head) => {
    const socket = opened(b, request, carrier, head);
    socket.end(`${SWITCHED}good night`);
    void text(socket).then(resolve);
  });

  const socket = await raw(t, a, newToken(tagOf(b.id)));
  const said = await text(socket);
  socket.end('good morning');

  t.regex(said, /good night$/u);
  t.is(await promise, 'good morning');
});

/** What another admin passed on to this one, as its gates take it. */
function opened({ links }: LinkedAdmin, request: IncomingMessage, carrier: Duplex, head: Buffer): Duplex {
  const received = links.relays.tunnels.received(request);
  if (received === null || 'refused' in received || received.open === null) throw new Error('it is not sealed');
  return received.open(carrier, head);
}

/**
 * A relay with limits of the test's own between an admin and one of before, which leaves upgrades unanswered until
 * `answer`.
 */
async function limited(t: Scope, limits: Pick<UpgradeRelayPorts, 'openingMax' | 'carriedMax' | 'joinClock'>) {
  const { a, b } = await linkedAdmins(t);
  const clock = createFakeClock(Date.now());
  const peers = new Peers(a.id, { log: silentLog, nowMs: Date.now });
  peers.saw([b.row]);
  for (const peer of peers.all()) peers.ponged(peer, { opens_relayed: false });
  const keys = keysOf(a);
  const time = { nowMs: Date.now, monotonicMs: () => performance.now() };
  const proofs = new PeerProofs({ keys, peers, ...time, log: silentLog });
  const relay = new UpgradeRelay({ keys, proofs, peers, clock, log: silentLog, ...limits });
  t.teardown(() => relay.close());
  openGate(a, null, relay);
  const held: Duplex[] = [];
  b.served.api.onUpgrade(TUNNEL_PATH, (_request, socket) => void held.push(socket));
  const answer = (): void => {
    for (const socket of held.splice(0)) socket.write(SWITCHED);
  };
  const coming = async (): Promise<Socket> => raw(t, a, newToken(tagOf(b.id)));
  return { relay, clock, held, answer, coming };
}

/** The status that comes first, of a socket that is left as it is. */
async function statusOf(socket: Duplex): Promise<string> {
  const [first] = (await once(socket, 'data')) as [Buffer];
  return first.toString('latin1').slice(9, 12);
}

test('so many are opened at once: more are told to come again', async (t) => {
  const { relay, held, answer, coming } = await limited(t, { openingMax: 1 });
  const first = await coming();
  await until('the first is passed on', () => held.length === 1);

  const second = await statusOf(await coming());
  answer();

  t.is(second, '503');
  t.is(await statusOf(first), '101');
  t.deepEqual(relay.open, { opening: 0, carried: 1 });
});

test('what is carried becomes as old as its ends want it', async (t) => {
  let nowMs = 0;
  const sweeps: (() => void)[] = [];
  const joinClock = { nowMs: () => nowMs, after: (_ms: number, run: () => void) => (sweeps.push(run), () => {}) };
  const { relay, held, coming } = await limited(t, { joinClock });
  const agent = await coming();
  const admin = await until('it is passed on', () => held[0] ?? null);
  admin.write(SWITCHED);
  await statusOf(agent);

  nowMs = 2 * LIFE_MS_MAX;
  agent.write('still there');
  await once(admin, 'data');
  sweeps.shift()?.();

  t.deepEqual(relay.open, { opening: 0, carried: 1 });
});

test('so many are carried at once: more are told to come again, until one is over', async (t) => {
  const { relay, held, answer, coming } = await limited(t, { carriedMax: 1 });
  const first = await coming();
  await until('the first is passed on', () => held.length === 1);
  answer();
  await statusOf(first);

  const second = await statusOf(await coming());
  first.resetAndDestroy();
  await until('the first is over', () => relay.open.carried === 0);
  const third = await coming();
  await until('the third is passed on', () => held.length === 1);
  answer();

  t.is(second, '503');
  t.is(await statusOf(third), '101');
});

test('an admin that does not answer an upgrade is given up', async (t) => {
  const { relay, clock, held, coming } = await limited(t, {});
  const first = await coming();
  await until('it is passed on', () => held.length === 1);

  clock.pass(RELAY_OPEN_MS_MAX);

  t.is(await statusOf(first), '503');
  t.deepEqual(relay.open, { opening: 0, carried: 0 });
});

test('an admin that ends carries nothing any more', async (t) => {
  const { relay, held, answer, coming } = await limited(t, {});
  const carried = await coming();
  await until('it is passed on', () => held.length === 1);
  answer();
  await statusOf(carried);
  const opening = await coming();
  await until('the other one too', () => held.length === 1);

  const cut = once(carried, 'error');
  relay.close();

  t.like((await cut)[0], { code: 'ECONNRESET' });
  t.is(await statusOf(opening), '503');
  t.is(await statusOf(await coming()), '503');
});

test('the limits of relayed upgrades as they come', (t) => {
  t.deepEqual([RELAYS_OPENING_MAX, RELAY_OPEN_MS_MAX, CARRIED_STREAMS_MAX], [256, 5_000, 4_096]);
});
