/** Sessions that came to one admin and belong to another one, over real HTTP servers. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import test from 'ava';
import { WebSocket } from 'ws';
import { LINK_VERSION_SESSIONS, PEER_HEADER, RELAYED_HEADER } from '../../../../transport/admins/protocol/version.ts';
import { SESSION_PATH, SESSION_SUBPROTOCOL, STRANDED_HEADER } from '../../../../transport/protocol/version.ts';
import { createSessionGate } from '../../../../transport/sessions/gate.ts';
import type { SessionVia } from '../../../../transport/sessions/connection.ts';
import { CLUSTER, NODE } from '../../../support/actors.ts';
import { keysOf, linkedAdmins, type LinkedAdmin } from '../../../support/linked-admins.ts';
import { silentLog } from '../../../support/log.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

const TOKEN = 'token-of-the-node';
const HASH = createHash('sha256').update(TOKEN).digest();
const OWNER_URL = 'http://owner.test:44000';

/** What came to an admin: sessions that it took, each of which says everything back, and tokens that were wrong. */
interface Gate {
  readonly sessions: { readonly via: SessionVia | null; readonly socket: WebSocket }[];
  readonly wrongAt: string[];
  readonly seen: IncomingMessage[];
}

/** Lets sessions in at an admin. `owner`: of every cluster; null: this admin. */
function openGate(admin: LinkedAdmin, owner: LinkedAdmin | null): Gate {
  const state: Gate = { sessions: [], wrongAt: [], seen: [] };
  const gate = createSessionGate({
    sessions: {
      accept: (socket: WebSocket, _node: unknown, _cluster: unknown, via: SessionVia | null) => {
        state.sessions.push({ via, socket });
        socket.on('message', (data: Buffer) => socket.send(data.toString()));
        return 0;
      },
    } as never,
    relay: admin.links.relays.sessions,
    log: silentLog,
    monotonicMs: () => performance.now(),
    wrongTokens: { add: (key) => (state.wrongAt.push(key), 0), waitMs: () => 0, takeBack: () => {} },
    nodeByToken: async (hash) => Promise.resolve(HASH.equals(hash) ? { node: NODE, cluster: CLUSTER } : null),
    deletedByToken: async () => Promise.resolve(false),
    owns: () => owner === null,
    ownerOf: async () => Promise.resolve(owner && { adminId: owner.id, url: OWNER_URL }),
  });
  admin.served.api.onUpgrade(SESSION_PATH, (request, socket, head) => {
    state.seen.push(request);
    gate(request, socket, head);
  });
  return state;
}

/** Two admins, of which b owns everything. */
async function bothOpen(t: Scope) {
  const { a, b } = await linkedAdmins(t);
  return { a, b, atA: openGate(a, b), atB: openGate(b, null) };
}

/** An agent that comes to an admin. `stranded`: the URL of the owner that it did not reach. */
function come(t: Scope, { served }: LinkedAdmin, stranded: string | null, token = TOKEN): WebSocket {
  const socket = new WebSocket(served.url.replace('http', 'ws') + SESSION_PATH, SESSION_SUBPROTOCOL, {
    headers: { authorization: `Bearer ${token}`, ...(stranded !== null && { [STRANDED_HEADER]: stranded }) },
  });
  t.teardown(() => socket.terminate());
  return socket;
}

async function closing(socket: WebSocket): Promise<readonly [number, string]> {
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  return [code, reason.toString()];
}

test('an agent that did not get to the owner has its session there, with the address at which it came in', async (t) => {
  const { a, atA, atB } = await bothOpen(t);
  const agent = come(t, a, `${OWNER_URL}/`);
  await once(agent, 'open');

  agent.send('hello');
  const [said] = (await once(agent, 'message')) as [Buffer];

  t.is(said.toString(), 'hello');
  t.deepEqual(
    atB.sessions.map(({ via }) => via && { by: via.by, address: via.address }),
    [{ by: 'a', address: '127.0.0.1' }],
  );
  t.is(atA.sessions.length, 0);
  t.is(atB.seen[0]?.headers.authorization, undefined, 'the token crosses sealed');
});

test('one that has not tried the owner, or did not reach another one, is sent there', async (t) => {
  const { a, atB } = await bothOpen(t);

  for (const stranded of [null, 'http://another.test', 'no URL'])
    t.deepEqual(await closing(come(t, a, stranded)), [4010, OWNER_URL]);
  t.is(atB.seen.length, 0);
});

test('a token that nobody has is refused where it came in, and counted there', async (t) => {
  const { a, atA, atB } = await bothOpen(t);
  const agent = come(t, a, OWNER_URL, 'wrong');

  const [error] = (await once(agent, 'error')) as [Error];

  t.regex(error.message, /401/u);
  t.deepEqual([atA.wrongAt, atB.seen.length], [['127.0.0.1'], 0]);
});

test('either end ends both, and so does the death of the owner', async (t) => {
  const { a, b, atB } = await bothOpen(t);
  const [first, second, third] = [come(t, a, OWNER_URL), come(t, a, OWNER_URL), come(t, a, OWNER_URL)];
  await Promise.all([first, second, third].map((agent) => once(agent, 'open')));
  const ends = atB.sessions.map(({ socket }) => once(socket, 'close'));

  atB.sessions[0]?.socket.close(4010, 'http://next.test');
  const closed = [first, second, third].map((agent) => closing(agent));
  t.deepEqual(await Promise.any(closed), [4010, 'http://next.test']);
  a.saw(a.row); // the owner checks in no more
  await Promise.all([...closed, ...ends]);

  await until('that nothing is carried', () => a.links.relays.sessions.open === 0);
  t.is(b.links.relays.sessions.open, 0);
});

test('what was passed on goes no further, and nobody but an admin passes anything on', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const [, atB] = [openGate(a, b), openGate(b, a)];

  const agent = come(t, a, OWNER_URL);
  const sentAway = await closing(agent);
  const forged = new WebSocket(b.served.url.replace('http', 'ws') + SESSION_PATH, SESSION_SUBPROTOCOL, {
    headers: {
      [PEER_HEADER]: keysOf(a, Buffer.alloc(32, 9)).header(`GET ${SESSION_PATH}`, b.instanceId, Date.now()).text,
      [RELAYED_HEADER]: Buffer.from(JSON.stringify({ token: TOKEN, address: '::1' })).toString('base64url'),
    },
  });
  const [error] = (await once(forged, 'error')) as [Error];

  t.deepEqual(sentAway, [4010, OWNER_URL]);
  t.regex(error.message, /401/u);
  t.is(atB.sessions.length, 0);
});

test('an admin of the version before, or one that is not reached, gets none', async (t) => {
  const { a, b, atB } = await bothOpen(t);

  a.saw(a.row, { ...b.row, linkVersion: LINK_VERSION_SESSIONS - 1 });
  const older = await closing(come(t, a, OWNER_URL));
  a.saw(a.row, { ...b.row, instanceId: a.instanceId, peerUrl: 'http://127.0.0.1:1' });
  const [error] = (await once(come(t, a, OWNER_URL), 'error')) as [Error];

  t.deepEqual(older, [4010, OWNER_URL]);
  t.regex(error.message, /503/u);
  t.is(atB.seen.length, 0);
});
