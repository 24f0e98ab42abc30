/** Tunnels that are asked for: what an agent is told, and told again. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { TUNNEL_PATH, TUNNEL_SUBPROTOCOL, TUNNEL_UPGRADE } from '../../../../transport/protocol/version.ts';
import { target } from '../../../support/net/listening.ts';
import { NODE, tunnelsFixture, type Fixture } from '../../../support/net/tunnels-fixture.ts';
import { until } from '../../../support/until.ts';

test('an agent that has a new session is asked again by the same token, unless it has come by it', async (t) => {
  const { reach, tunnels, tokens } = await tunnelsFixture(t, { opens: false });
  const abort = new AbortController();

  tunnels.welcomed(NODE);
  const reached = reach(1, abort.signal);
  tunnels.welcomed(NODE);
  const [token = ''] = tokens;
  tunnels.redeem(token);
  tunnels.welcomed(NODE);
  abort.abort();

  t.false((await reached).ok);
  t.deepEqual(tokens, [token, token]);
});

test('an agent that comes while its owner is looked for, in vain, opens the tunnel that it was asked for', async (t) => {
  let isConnected = false;
  const owner = Promise.withResolvers<boolean>();
  const { reach, tunnels, tokens } = await tunnelsFixture(t, {
    isConnected: () => isConnected,
    askOwner: () => owner.promise,
  });
  const port = await target(t, (socket) => socket.end('here'));
  const reached = reach(port);

  isConnected = true;
  tunnels.welcomed(NODE);
  owner.resolve(false);

  const dialled = await reached;
  if (!dialled.ok) throw new Error(dialled.message);
  t.is(await text(dialled.stream), 'here');
  t.is(tokens.length, 1);
});

const WEB_SOCKET = [
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
  `sec-websocket-protocol: ${TUNNEL_SUBPROTOCOL}`,
];

/** Asks for a tunnel with the token that came last, and gives the connection up, as after too long a silence. */
async function givenUp({ url, tokens }: Fixture, upgrade: readonly string[]): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const head = [
    `GET ${TUNNEL_PATH} HTTP/1.1`,
    'host: x',
    'connection: Upgrade',
    `authorization: Bearer ${tokens.at(-1) ?? ''}`,
  ];
  socket.end([...head, ...upgrade, '', ''].join('\r\n'));
  socket.on('error', () => {}).resume();
  await once(socket, 'close');
}

for (const [form, upgrade] of [
  ['a connection', [`upgrade: ${TUNNEL_UPGRADE}`]],
  ['a WebSocket', WEB_SOCKET],
] as const)
  test(`a token that is spent by ${form} that its agent had given up: the agent is asked once more`, async (t) => {
    const fixture = await tunnelsFixture(t, { opens: false });
    const { reach, agent, url, tokens, tunnels } = fixture;
    const port = await target(t, (socket) => socket.end('here'));
    const reached = reach(port);

    await givenUp(fixture, upgrade);
    await until('the agent is asked again', () => tokens.length === 2);
    agent.open([url], tokens[1] ?? '', { isHttp2: true });

    const dialled = await reached;
    if (!dialled.ok) throw new Error(dialled.message);
    t.is(await text(dialled.stream), 'here');
    t.not(tokens[0], tokens[1]);
    t.is(tunnels.count(), 1);
  });

test('an agent that does so each time is asked twice for all who wait, who are told then', async (t) => {
  const fixture = await tunnelsFixture(t, { opens: false });
  const { reach, tokens } = fixture;
  const reached = Promise.all(Array.from({ length: 3 }, () => reach(1)));

  await givenUp(fixture, [`upgrade: ${TUNNEL_UPGRADE}`]);
  await until('the agent is asked again', () => tokens.length === 2);
  await givenUp(fixture, [`upgrade: ${TUNNEL_UPGRADE}`]);

  for (const dialled of await reached) t.like(dialled, { ok: false, failure: 'offline' });
  t.is(tokens.length, 2);
});

test('a tunnel that this admin ends before its agent said a word is not asked for again', async (t) => {
  const { reach, tunnels, tokens } = await tunnelsFixture(t, { opens: false });
  const reached = reach(1);

  tunnels.accept(NODE, () => new PassThrough(), 'url');
  tunnels.end(NODE);

  t.like(await reached, { ok: false, failure: 'offline' });
  t.is(tokens.length, 1);
});
