import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import test from 'ava';
import { AgentTunnels } from '../../../../agent/access/tunnel/tunnels.ts';
import { URL_DIAL_MS_MAX } from '../../../../agent/access/tunnel/ways.ts';
import { WebSocket } from 'ws';
import { TUNNEL_IDLE_MS, TUNNEL_OPEN_MS_MAX } from '../../../../transport/protocol/limits.ts';
import { TUNNEL_PATH, TUNNEL_SUBPROTOCOL } from '../../../../transport/protocol/version.ts';
import type { Dialled } from '../../../../transport/net/streams/dialled.ts';
import { TUNNEL_SWEEP_MS } from '../../../../transport/tunnels/limits.ts';
import { wasCut } from '../../../../transport/net/streams/reset.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';
import { NODE, tunnelsFixture } from '../../../support/net/tunnels-fixture.ts';
import { target } from '../../../support/net/listening.ts';

function streamOf(dialled: Dialled): Duplex {
  if (!dialled.ok) throw new Error(`${dialled.failure}: ${dialled.message}`);
  return dialled.stream;
}

/** Reads a stream to its end, whichever that is. */
async function over(stream: Duplex): Promise<void> {
  stream.resume();
  if (!stream.closed)
    await new Promise((resolve) => {
      stream.once('close', resolve);
    });
}

/** The HTTP status with which the admin answers somebody who wants to open a tunnel, or 101. */
async function tryToken(url: string, token: string, protocol = TUNNEL_SUBPROTOCOL): Promise<number> {
  const socket = new WebSocket(url.replace('http', 'ws') + TUNNEL_PATH, protocol, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  socket.on('unexpected-response', (_request, response) => {
    resolve(response.statusCode ?? 0);
    response.resume();
  });
  socket.on('open', () => resolve(101));
  socket.on('error', () => resolve(0));
  const status = await promise;
  socket.terminate();
  return status;
}

test('bytes go both ways, and an end goes one way', async (t) => {
  const { reach } = await tunnelsFixture(t);
  const port = await target(t, (socket) => {
    void text(socket).then((said) => socket.end(`you said ${said}`));
  });

  const stream = streamOf(await reach(port));
  stream.write('good ');
  stream.end('morning');

  t.is(await text(stream), 'you said good morning');
});

test('why there is no stream comes in the words of the machine', async (t) => {
  const { reach } = await tunnelsFixture(t);

  t.deepEqual(await reach(1), { ok: false, failure: 'refused', message: 'nobody listens on port 1 — niemand' });
});

test('an agent that does not get to the URL that its admin names takes the one of its session, with the same token', async (t) => {
  const deaf = await target(t, (socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n'));
  const port = await target(t, (socket) => socket.end('here'));
  for (const ownUrl of ['http://127.0.0.1:1', `http://127.0.0.1:${deaf}`]) {
    const { reach, tokens } = await tunnelsFixture(t, { ownUrl });

    t.is(await text(streamOf(await reach(port))), 'here');
    t.is(tokens.length, 1);
  }
});

test('an admin that says nothing at the URL that it names costs three seconds', async (t) => {
  const silent = await target(t, (socket) => socket.resume());
  const port = await target(t, (socket) => socket.end('later'));
  const { reach } = await tunnelsFixture(t, { ownUrl: `http://127.0.0.1:${silent}` });
  const beganMs = performance.now();

  t.is(await text(streamOf(await reach(port))), 'later');

  t.true(performance.now() - beganMs >= URL_DIAL_MS_MAX - 100);
});

test('one tunnel carries what many connections say at once, to the byte', async (t) => {
  const { reach, tunnels, tokens } = await tunnelsFixture(t);
  const port = await target(t, (socket) => socket.pipe(socket));
  const sent = Array.from({ length: 200 }, (_none, index) => randomBytes(1_000 + index * 701));

  const received = await Promise.all(
    sent.map(async (bytes) => {
      const stream = streamOf(await reach(port));
      stream.end(bytes);
      return buffer(stream);
    }),
  );

  t.deepEqual(received.map(digest), sent.map(digest));
  t.is(tunnels.count(), 1);
  t.is(tokens.length, 1);
});

test('a stream that nobody reads stalls no other', async (t) => {
  const { reach } = await tunnelsFixture(t);
  const flood = await target(t, (socket) => {
    const piece = Buffer.alloc(65_536);
    const pour = (): void => {
      while (socket.write(piece));
    };
    socket.on('drain', pour);
    pour();
  });
  const echo = await target(t, (socket) => socket.pipe(socket));

  const slow = await Promise.all(Array.from({ length: 20 }, () => reach(flood)));
  slow.forEach((one) => streamOf(one).pause());
  const stream = streamOf(await reach(echo));
  const bytes = randomBytes(3_000_000);
  stream.end(bytes);

  t.is(digest(await buffer(stream)), digest(bytes));
  for (const one of slow) streamOf(one).destroy();
});

test('a reset at the target is a reset here, not an end', async (t) => {
  const { reach } = await tunnelsFixture(t);
  const port = await target(t, (socket) =>
    socket.once('data', () => socket.write('half', () => socket.resetAndDestroy())),
  );

  const stream = streamOf(await reach(port));
  stream.write('go');

  await over(stream);
  t.true(wasCut(stream));
});

test('when the agent dies, what was open breaks off at once', async (t) => {
  const { reach, agent } = await tunnelsFixture(t);
  const port = await target(t, (socket) => socket.write('still going'));
  const stream = streamOf(await reach(port));
  await once(stream, 'data');

  agent.close();

  await over(stream);
  t.true(wasCut(stream));
});

test('a node that is deleted loses its tunnel with everything in it', async (t) => {
  const { reach, tunnels } = await tunnelsFixture(t);
  const port = await target(t, (socket) => socket.write('still going'));
  const stream = streamOf(await reach(port));
  await once(stream, 'data');

  tunnels.end(NODE);

  await over(stream);
  t.true(wasCut(stream));
  await until('the tunnel is gone', () => tunnels.count() === 0);
});

test('a token opens one tunnel, once', async (t) => {
  const { reach, url, tokens } = await tunnelsFixture(t);
  const port = await target(t, (socket) => socket.end());
  streamOf(await reach(port));

  t.is(await tryToken(url, tokens[0] ?? ''), 401);
  t.is(await tryToken(url, 'made-up-token-of-enough-characters'), 401);
  t.is(await tryToken(url, ''), 401);
});

test('a token is worth nothing after its time, and who waited is told', async (t) => {
  const clock = createFakeClock();
  const { reach, url, tokens } = await tunnelsFixture(t, { clock, opens: false });
  const waiting = reach(1);
  await until('the agent is asked', () => tokens.length === 1);

  clock.pass(TUNNEL_OPEN_MS_MAX);

  t.like(await waiting, { ok: false, failure: 'offline' });
  t.is(await tryToken(url, tokens[0] ?? ''), 401);
});

test('who gives up waiting is told at once, and the next one waits for the same tunnel', async (t) => {
  const { reach, tokens } = await tunnelsFixture(t, { opens: false });
  const impatient = new AbortController();
  const waiting = reach(1, impatient.signal);
  void reach(1);
  await until('the agent is asked', () => tokens.length > 0);

  impatient.abort();

  t.like(await waiting, { ok: false, failure: 'offline' });
  t.is(tokens.length, 1);
});

test('a node without a session is offline', async (t) => {
  const { reach } = await tunnelsFixture(t, { isConnected: () => false });

  t.like(await reach(1), { ok: false, failure: 'offline' });
});

test('a node whose session is at another admin is asked for through that one, and who waits hears its no at once', async (t) => {
  const asked: string[] = [];
  const { reach, tunnels } = await tunnelsFixture(t, {
    isConnected: () => false,
    askOwner: async (node) => {
      asked.push(node);
      return Promise.resolve(true);
    },
  });
  const waiting = reach(1);
  await until('the owner is asked', () => asked.length === 1);

  tunnels.refuse(NODE);

  t.like(await waiting, { ok: false, failure: 'offline' });
});

test('a tunnel that nobody used for a minute is closed, and the next connection opens another', async (t) => {
  const clock = createFakeClock();
  const { reach, tunnels, tokens } = await tunnelsFixture(t, { clock });
  const port = await target(t, (socket) => socket.pipe(socket));
  const stream = streamOf(await reach(port));

  clock.pass(TUNNEL_IDLE_MS * 0.1);
  t.is(tunnels.count(), 1);
  stream.end();
  await text(stream);
  await until('the stream is over', () => stream.destroyed);
  await until('the tunnel is closed', () => {
    clock.pass(TUNNEL_IDLE_MS);
    return tunnels.count() === 0;
  });

  const next = streamOf(await reach(port));
  next.end('again');
  t.is(await text(next), 'again');
  t.is(tokens.length, 2);
});

test('who comes while an unused tunnel says goodbye gets another', async (t) => {
  const clock = createFakeClock();
  let slept = 0; // one look after a minute: many in a row would take the agent for dead
  const { reach, tokens } = await tunnelsFixture(t, { clock: { ...clock, nowMs: () => clock.nowMs() + slept } });
  const port = await target(t, (socket) => {
    socket.end('here');
  });
  const first = streamOf(await reach(port));
  first.end();
  await over(first);

  slept = TUNNEL_IDLE_MS;
  clock.pass(TUNNEL_SWEEP_MS);
  const second = streamOf(await reach(port)); // in that very moment

  t.is(await text(second), 'here');
  t.is(tokens.length, 2);
});

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

test('an admin that names no web address for a tunnel gets none, and the agent goes on', (t) => {
  const problems: unknown[] = [];
  const agent = new AgentTunnels({
    egress: { dial: () => Promise.reject(new Error('nobody is dialled')) },
    join: () => {},
    log: {
      debug() {},
      info() {},
      error() {},
      warn: (fields) => problems.push((fields as { readonly problem?: string }).problem),
    },
  });

  for (const [url, token] of [
    ['mailto:x', 'token'],
    ['http://127.0.0.1:1/', 'to\nken'],
  ] as const)
    agent.open([url], token);

  t.is(agent.count(), 0);
  t.is(problems.length, 2);
});
