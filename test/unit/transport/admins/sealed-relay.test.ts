/**
 * What somebody between two admins has of the sessions and tunnels that one carries to the other: nothing that can be
 * read, and nothing that can be changed, but with an admin of before.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import test from 'ava';
import { PEER_HEADER, RELAY_SEALED_HEADER, RELAYED_HEADER } from '../../../../transport/admins/protocol/version.ts';
import { TUNNEL_ROUTE } from '../../../../transport/admins/upgrade-relay.ts';
import { TUNNEL_PATH, TUNNEL_UPGRADE } from '../../../../transport/protocol/version.ts';
import { newToken, tagOf } from '../../../../transport/tunnels/token.ts';
import { keysOf, startLinked, type LinkedAdmin } from '../../../support/linked-admins.ts';
import { listening } from '../../../support/net/listening.ts';
import { rest } from '../../../support/net/stream-pairs.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { openGate, raw } from './upgrade-relay-fixture.ts';

const SAID = 'what nobody in between is to read';

type Way = 'out' | 'back';

/** Somebody on the way from `a` to `b`: all that passed, and what becomes of it. */
interface Between {
  readonly url: string;
  readonly seen: () => string;
  passes: (bytes: Buffer, way: Way) => Buffer;
}

async function openBetween(t: Scope, to: LinkedAdmin): Promise<Between> {
  const seen: Buffer[] = [];
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
    const far = connect({ port: Number(new URL(to.served.url).port), host: '127.0.0.1', allowHalfOpen: true });
    for (const [source, sink, way] of [
      [near, far, 'out'],
      [far, near, 'back'],
    ] as const) {
      source.on('error', () => {}).on('close', () => sink.destroy());
      source.on('end', () => sink.end());
      source.on('data', (bytes: Buffer) => {
        seen.push(bytes);
        sink.write(between.passes(bytes, way));
      });
    }
  });
  const between: Between = {
    url: `http://127.0.0.1:${await listening(t, server)}`,
    seen: () => Buffer.concat(seen).toString('latin1'),
    passes: (bytes) => bytes,
  };
  return between;
}

/** An admin that reaches another one by way of somebody, and says all that comes to a tunnel back. */
async function withBetween(t: Scope) {
  const [a, b] = [await startLinked(t, 'a'), await startLinked(t, 'b')];
  const between = await openBetween(t, b);
  const row = { ...b.row, peerUrl: between.url };
  b.saw(a.row, b.row);
  await until('it is reached, and has said what it opens', () => {
    a.saw(a.row, row);
    return a.links.peers.all().every((peer) => a.links.peers.opensRelayed(peer) !== null);
  });
  const token = newToken(tagOf(b.id));
  openGate(a, null);
  return { a, b, row, between, token, atB: openGate(b, token) };
}

/** A tunnel that is open, as bytes. */
async function tunnel(t: Scope, admin: LinkedAdmin, token: string) {
  const agent = await raw(t, admin, token, TUNNEL_UPGRADE);
  const [head] = (await once(agent, 'data')) as [Buffer];
  t.teardown(() => void agent.destroy());
  return { agent, status: head.toString('latin1').slice(9, 12) };
}

const warned = ({ log }: LinkedAdmin) =>
  log.lines.flatMap(({ level, message, fields }) =>
    level === 'warn' && message.includes('sealed') ? [[message, fields]] : [],
  );
const CHANGED = 'the bytes of a tunnel came otherwise than the other admin sealed them';

test('nothing of what a tunnel carries can be read in between, either way', async (t) => {
  const { a, between, token } = await withBetween(t);
  const { agent } = await tunnel(t, a, token);

  t.is(await saidBack(agent), SAID);
  t.true(between.seen().includes(TUNNEL_PATH), 'it went that way');
  t.false(between.seen().includes(SAID));
});

for (const way of ['out', 'back'] as const)
  test(`a byte that is changed on the way ${way} cuts the tunnel, and is told of by whoever sees it`, async (t) => {
    const { a, b, between, token } = await withBetween(t);
    const { agent } = await tunnel(t, a, token);
    const heard = rest(agent);
    between.passes = (bytes, went) => (went === way ? turned(bytes) : bytes);

    agent.write(SAID);
    await until('it is cut', () => agent.closed);

    t.deepEqual(await heard, { bytes: Buffer.alloc(0), isWhole: false });
    const [sees, names] = way === 'out' ? [b, 'a'] : [a, 'b'];
    await until('it is told', () => warned(sees).length > 0);
    t.deepEqual(warned(sees), [[CHANGED, { admin: names }]]);
  });

test('nobody in between can have what is to be sealed taken in clear, or the other way round', async (t) => {
  const { a, row, between, token, atB } = await withBetween(t);

  between.passes = (bytes, way) => (way === 'out' ? replaced(bytes, `${RELAY_SEALED_HEADER}: 1\r\n`, '') : bytes);
  const stripped = await tunnel(t, a, token);
  a.saw(a.row, row);
  for (const peer of a.links.peers.all()) a.links.peers.ponged(peer, { opens_relayed: false });
  between.passes = (bytes, way) =>
    way === 'out' ? replaced(bytes, 'upgrade: ', `${RELAY_SEALED_HEADER}: 1\r\nupgrade: `) : bytes;
  const added = await tunnel(t, a, token);

  t.deepEqual([stripped.status, added.status], ['401', '401']);
  t.deepEqual(
    atB.seen.map(({ headers }) => headers[RELAY_SEALED_HEADER]),
    [undefined, '1'],
  );
});

test('an admin that has not said yet what it opens is passed nothing on', async (t) => {
  const { a, b, row, token, atB } = await withBetween(t);
  const silent = await openBetween(t, b);
  let asked = '';
  silent.passes = (bytes, way) => {
    if (way === 'out') asked += bytes.toString('latin1');
    return asked.startsWith('POST') ? Buffer.alloc(0) : bytes; // pings alone get no answer
  };
  a.saw(a.row, { ...row, peerUrl: silent.url });
  await until('a ping', () => asked !== '');
  silent.passes = (bytes) => bytes;

  const { status } = await tunnel(t, a, token);

  t.is(status, '503');
  t.is(atB.seen.length, 0);
});

test('over https nothing is sealed once more: such an admin need not have said that it opens it', async (t) => {
  const { a, row, token } = await withBetween(t);
  const server = createServer((socket) => void socket.on('error', () => {})); // takes connections, and says nothing
  a.saw(a.row, { ...row, peerUrl: `https://localhost:${await listening(t, server)}` });

  await raw(t, a, token, TUNNEL_UPGRADE);

  await until('it is dialled', () => a.links.readings().adminLinks.passedOn.tunnels.opening === 1);
  t.deepEqual(
    a.links.peers.all().map((peer) => a.links.peers.opensRelayed(peer)),
    [null],
  );
});

test('to an admin of before, which says nothing of it, bytes cross as they are, and so do those of such a one', async (t) => {
  const { a, b, between, token } = await withBetween(t);
  for (const peer of a.links.peers.all()) a.links.peers.ponged(peer, { opens_relayed: false });
  const { agent } = await tunnel(t, a, token);

  t.is(await saidBack(agent), SAID);
  t.true(between.seen().includes(SAID));

  const another = newToken(tagOf(b.id));
  openGate(b, another);
  const keys = keysOf(a);
  const header = keys.header(TUNNEL_ROUTE, b.instanceId, Date.now()); // as the release before writes it
  const older = connect({ port: Number(new URL(b.served.url).port), host: '127.0.0.1', allowHalfOpen: true });
  older.write(
    `GET ${TUNNEL_PATH} HTTP/1.1\r\nhost: x\r\nupgrade: ${TUNNEL_UPGRADE}\r\nconnection: Upgrade\r\n` +
      `${PEER_HEADER}: ${header.text}\r\n${RELAYED_HEADER}: ${keys.sealCall(header, Buffer.from(another)).toString('base64url')}\r\n\r\n`,
  );
  const [head] = (await once(older, 'data')) as [Buffer];
  t.teardown(() => void older.destroy());

  t.regex(head.toString(), /^HTTP\/1\.1 101 /u);
  t.is(await saidBack(older), SAID);
});

/** What is said back of SAID. */
async function saidBack(socket: Socket): Promise<string> {
  let back = '';
  socket.on('data', (bytes: Buffer) => (back += bytes.toString()));
  socket.write(SAID);
  await until('all of it', () => back.length >= SAID.length);
  return back;
}

function turned(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(copy.length - 1) ^ 1, copy.length - 1);
  return copy;
}

function replaced(bytes: Buffer, what: string, by: string): Buffer {
  return Buffer.from(bytes.toString('latin1').replace(what, by), 'latin1');
}
