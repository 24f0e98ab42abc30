import { createServer } from 'node:net';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { TUNNELS_MAX } from '../../../../agent/access/tunnel/tunnels.ts';
import type { Dialled } from '../../../../transport/net/streams/dialled.ts';
import { VPN_AGAIN_MS, VPN_AGAIN_MS_MAX } from '../../../../transport/tunnels/limits.ts';
import { TUNNEL_PING_MS } from '../../../../transport/protocol/tunnel.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { NODE, tunnelsFixture } from '../../../support/net/tunnels-fixture.ts';
import { target, listening } from '../../../support/net/listening.ts';

function streamOf(dialled: Dialled): Duplex {
  if (!dialled.ok) throw new Error(`${dialled.failure}: ${dialled.message}`);
  return dialled.stream;
}

/** A machine that answers what it was told. */
function echo(t: Scope): Promise<number> {
  return target(t, (socket) => {
    socket.pipe(socket);
  });
}

/** Somebody who takes connections and says nothing, and counts them. */
async function silence(t: Scope, host: string): Promise<{ readonly url: string; readonly taken: () => number }> {
  let taken = 0;
  const server = createServer((socket) => {
    taken += 1;
    socket.resume();
  });
  return { url: `http://${host}:${await listening(t, server, host)}`, taken: () => taken };
}

/** Bytes of a machine that takes all and says nothing. */
function mute(): Duplex {
  return new Duplex({ read: () => {}, write: (_bytes, _encoding, done) => done() });
}

test('a tunnel comes through the VPN where both sides know the way', async (t) => {
  const { reach, tunnels, tokens } = await tunnelsFixture(t, { isVpnUp: () => true });

  const stream = streamOf(await reach(await echo(t)));
  stream.end('over the VPN');

  t.is(await text(stream), 'over the VPN');
  t.deepEqual(tunnels.counters.opened, { mesh: 1, url: 0 });
  t.is(tokens.length, 1);
});

test('a gateway that is not there costs nothing: the usual URL is taken with the same token', async (t) => {
  const { reach, tunnels, tokens } = await tunnelsFixture(t, {
    isVpnUp: () => true,
    claimedVpnUrl: 'http://127.0.0.2:9',
  });

  const stream = streamOf(await reach(await echo(t)));
  stream.end('beside the VPN');

  t.is(await text(stream), 'beside the VPN');
  t.deepEqual(tunnels.counters.opened, { mesh: 0, url: 1 });
  t.is(tokens.length, 1);
});

test('a gateway that says nothing costs two seconds', async (t) => {
  const { url, taken } = await silence(t, '127.0.0.2');
  const { reach, tunnels } = await tunnelsFixture(t, { isVpnUp: () => true, claimedVpnUrl: url });

  const stream = streamOf(await reach(await echo(t)));
  stream.end('later');

  t.is(await text(stream), 'later');
  t.deepEqual(tunnels.counters.opened, { mesh: 0, url: 1 });
  t.is(taken(), 1);
});

for (const [name, lie] of [
  ['another address', (port: string) => `http://127.0.0.1:${port}`],
  ['a name', (port: string) => `http://localhost:${port}`],
  ['somebody who is called like the gateway', (port: string) => `http://127.0.0.2@127.0.0.1:${port}`],
  ['another path', (port: string) => `http://127.0.0.2:${port}/admin`],
  ['another protocol', (port: string) => `https://127.0.0.2:${port}`],
  ['another way to write it', (port: string) => `http://127.2:${port}`],
] as const) {
  test(`nobody can send an agent elsewhere: ${name} is not dialled`, async (t) => {
    const elsewhere = await silence(t, '0.0.0.0');
    const { reach, tunnels } = await tunnelsFixture(t, {
      isVpnUp: () => true,
      claimedVpnUrl: lie(new URL(elsewhere.url).port),
    });

    streamOf(await reach(await echo(t))).destroy();

    t.is(elsewhere.taken(), 0);
    t.deepEqual(tunnels.counters.opened, { mesh: 0, url: 1 });
  });
}

test('an agent that knows another gateway takes the usual URL', async (t) => {
  const { reach, tunnels } = await tunnelsFixture(t, { isVpnUp: () => true, gateway: '127.0.0.4' });

  streamOf(await reach(await echo(t))).destroy();

  t.deepEqual(tunnels.counters.opened, { mesh: 0, url: 1 });
});

test('a tunnel beside the VPN is left for one through it once there is a way, without a stream that waits', async (t) => {
  const vpn = { isUp: false };
  const { reach, tunnels, tokens } = await tunnelsFixture(t, { isVpnUp: () => vpn.isUp });
  const port = await echo(t);
  const before = streamOf(await reach(port));
  t.deepEqual(tunnels.counters.opened, { mesh: 0, url: 1 });

  vpn.isUp = true;
  const during = streamOf(await reach(port));
  await until('the tunnel through the VPN', () => tunnels.counters.opened.mesh === 1);
  for (let left = 5; left > 0; left -= 1) streamOf(await reach(port)).destroy();

  t.deepEqual([tunnels.counters.opened, tokens.length], [{ mesh: 1, url: 1 }, 2]);
  before.end('before');
  during.end('during');
  t.deepEqual(await Promise.all([text(before), text(during)]), ['before', 'during']);
});

test('where there is no way after all, the VPN is not asked for again at once', async (t) => {
  const vpn = { isUp: false };
  const { reach, tunnels, tokens } = await tunnelsFixture(t, {
    isVpnUp: () => vpn.isUp,
    claimedVpnUrl: 'http://127.0.0.2:9',
  });
  const port = await echo(t);
  streamOf(await reach(port)).destroy();
  vpn.isUp = true;

  streamOf(await reach(port)).destroy();
  await until('the second tunnel', () => tunnels.counters.opened.url === 2);
  for (let left = 5; left > 0; left -= 1) streamOf(await reach(port)).destroy();

  t.is(tokens.length, 2);
});

for (const isHttp2 of [true, false])
  test(`an agent that gets nowhere through the VPN keeps its streams, however often it is asked${isHttp2 ? '' : ', in WebSockets'}`, async (t) => {
    let aheadMs = 0;
    const clock = { nowMs: () => performance.now() + aheadMs, after: () => () => {} };
    const { reach, tunnels, agent, tokens } = await tunnelsFixture(t, {
      clock,
      isHttp2,
      isVpnUp: () => true,
      claimedVpnUrl: 'http://127.0.0.2:9',
    });
    const port = await echo(t);
    const streams = [streamOf(await reach(port))];

    while (tokens.length <= 2 * TUNNELS_MAX) {
      aheadMs += VPN_AGAIN_MS_MAX;
      streams.push(streamOf(await reach(port)));
      const asked = tokens.length;
      await until('what it opened instead', () => tunnels.counters.opened.url === asked);
      await until('it is closed', () => agent.count() === 1);
    }

    for (const stream of streams) stream.end('still there');
    t.deepEqual(new Set(await Promise.all(streams.map(text))), new Set(['still there']));
    t.is(tunnels.count(), 1);
    t.is(tokens.length, tunnels.counters.opened.url);
  });

test('where there is never a way, the VPN is asked for less and less often, every ten minutes at last', async (t) => {
  let minutes = 0;
  const clock = { nowMs: () => performance.now() + minutes * VPN_AGAIN_MS, after: () => () => {} };
  const options = { clock, isVpnUp: () => true, claimedVpnUrl: 'http://127.0.0.2:9' };
  const { reach, tunnels, tokens } = await tunnelsFixture(t, options);
  const port = await echo(t);
  streamOf(await reach(port)).destroy();
  const asked: number[] = [];

  for (minutes = 1; minutes <= 40; minutes += 1) {
    const before = tokens.length;
    streamOf(await reach(port)).destroy();
    if (tokens.length > before) asked.push(minutes);
    await until('what it opened instead', () => tunnels.counters.opened.url === tokens.length);
  }

  t.deepEqual(asked, [1, 2, 4, 8, 16, 26, 36]);
});

test('a wait that was not in vain does not lengthen the next one', async (t) => {
  let minutes = 0;
  const clock = { nowMs: () => performance.now() + minutes * VPN_AGAIN_MS, after: () => () => {} };
  const vpn = { isUp: false };
  const { reach, tunnels, tokens } = await tunnelsFixture(t, { clock, isVpnUp: () => vpn.isUp });
  const port = await echo(t);
  streamOf(await reach(port)).destroy();

  for (minutes = 1; minutes <= 3; minutes += 1) {
    vpn.isUp = true;
    streamOf(await reach(port)).destroy();
    await until('the tunnel through the VPN', () => tunnels.counters.opened.mesh === minutes);
    tunnels.end(NODE);
    await until('it is over', () => tunnels.count() === 0);
    vpn.isUp = false;
    streamOf(await reach(port)).destroy();
  }

  t.deepEqual(tunnels.counters.opened, { mesh: 3, url: 4 });
  t.is(tokens.length, 7);
});

test('a tunnel that comes beside the VPN takes new streams where the older one owes a sign of life', async (t) => {
  const clock = createFakeClock();
  const options = { clock, isVpnUp: () => true, claimedVpnUrl: 'http://127.0.0.2:9' };
  const { reach, tunnels } = await tunnelsFixture(t, options);
  const port = await echo(t);
  tunnels.accept(NODE, mute, 'url');
  clock.pass(TUNNEL_PING_MS);

  void reach(port);
  await until('what is opened instead', () => tunnels.counters.opened.url === 2);
  const stream = streamOf(await reach(port));
  stream.end('in the newer one');

  t.is(await text(stream), 'in the newer one');
});

test('while nothing goes through the VPN new streams come beside it, and those that are there go on when it is back', async (t) => {
  const vpn = { isUp: true };
  const { reach, tunnels } = await tunnelsFixture(t, { isVpnUp: () => vpn.isUp });
  const port = await echo(t);
  const before = streamOf(await reach(port));

  vpn.isUp = false;
  const during = streamOf(await reach(port));
  t.deepEqual(tunnels.counters.opened, { mesh: 1, url: 1 });
  vpn.isUp = true;
  before.end('before');
  during.end('during');

  t.deepEqual(await Promise.all([text(before), text(during)]), ['before', 'during']);
});
