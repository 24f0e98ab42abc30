import { once } from 'node:events';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { notDialled } from '../../../../transport/net/streams/dialled.ts';
import { startProxies } from '../../../../transport/proxies/proxies.ts';
import { recordingLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';
import { rest } from '../../../support/net/stream-pairs.ts';
import { basic, echoes, openProxies, rawClient } from '../../../support/net/proxies-fixture.ts';
import { GREETING_PASSWORD, take, tunnelBySocks } from './socks5-client.ts';
import { scaled } from '../../../support/busy.ts';
import { openTarget } from '../../../support/net/listening.ts';

const PORTS = {
  admit: () => ({ ok: false, reason: 'credentials' }) as const,
  dial: () => Promise.resolve(notDialled('failed', 'no')),
};

test('a port that is taken is a problem that names it and its setting, once in the log, and the other proxy works', async (t) => {
  const target = await openTarget(t, () => {});
  const log = recordingLog();

  const proxies = await startProxies({
    ports: PORTS,
    log,
    http: { hosts: ['127.0.0.1'], port: target.port, setting: 'HTTP_PROXY_PORT' },
    socks5: { hosts: ['127.0.0.1'], port: 0, setting: 'SOCKS5_PROXY_PORT' },
  });
  t.teardown(() => proxies.close(0));

  const problem = `The HTTP proxy does not listen on port ${target.port}: another program has it. Its port is set by HTTP_PROXY_PORT.`;
  t.is(proxies.http.problem(), problem);
  t.is(proxies.http.port, null);
  t.deepEqual(
    log.lines.flatMap(({ level, message }) => (level === 'warn' ? [message] : [])),
    [problem],
  );
  t.is(proxies.socks5.problem(), null);
  t.true(Number(proxies.socks5.port) > 0);
});

test('several addresses have one port, and an address that this machine does not have leaves none open', async (t) => {
  const log = recordingLog();
  const both = await startProxies({
    ports: PORTS,
    log,
    http: { hosts: ['127.0.0.1', '127.0.0.2'], port: 0, setting: 'A' },
    socks5: { hosts: ['127.0.0.1', '192.0.2.1'], port: 0, setting: 'B' },
  });
  t.teardown(() => both.close(0));

  for (const host of ['127.0.0.1', '127.0.0.2']) {
    const socket = connect({ host, port: both.http.port ?? 0 });
    await once(socket, 'connect');
    socket.destroy();
  }

  t.regex(
    both.socks5.problem() ?? '',
    /^The SOCKS5 proxy does not listen on port \d+: this machine does not have the address\. Its port is set by B\.$/u,
  );
  t.is(both.socks5.port, null);
});

test('a proxy without an address is off, and that is no problem', async (t) => {
  const proxies = await startProxies({
    ports: PORTS,
    log: recordingLog(),
    http: { hosts: [], port: 0, setting: 'A' },
    socks5: { hosts: [], port: 0, setting: 'B' },
  });

  t.like(proxies.http, { port: null });
  t.is(proxies.http.problem(), null);
  await proxies.close();
});

/** A tunnel that ends by itself, one that does not, a handshake that is not over, and a request without an answer. */
async function clients(t: ExecutionContext) {
  const target = await openTarget(t, echoes);
  const proxy = await openProxies(t);
  const well = await tunnelBySocks(t, proxy.socksPort, target.port);
  const stuck = await tunnelBySocks(t, proxy.socksPort, target.port);
  const waiting = rawClient(t, proxy.socksPort);
  waiting.write(GREETING_PASSWORD);
  await take(waiting, 2);
  const kept = rawClient(t, proxy.httpPort);
  kept.write(`GET http://127.0.0.1:${target.port}/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${basic('_')}\r\n\r\n`);
  await until('all are there', () => proxy.dialled.length === 3 && target.sockets.size === 3);
  return { proxy, well, stuck, waiting, kept };
}

test('at the end no client comes in, one in a handshake is cut, and tunnels and requests may end by themselves', async (t) => {
  const { proxy, well, stuck, waiting, kept } = await clients(t);
  const cut = rest(waiting);

  const closed = proxy.proxies.close(600_000);
  const late = rawClient(t, proxy.socksPort);
  t.like((await once(late, 'error'))[0], { code: 'ECONNREFUSED' });
  t.false((await cut).isWhole);
  well.end('to the end');
  t.deepEqual(await rest(well), { bytes: Buffer.from('to the end'), isWhole: true });
  t.deepEqual([stuck.closed, kept.closed], [false, false]);
  for (const socket of [stuck, kept]) socket.resetAndDestroy();
  await closed;

  t.like(proxy.proxies.tunnels.ends, { normal: 1, drain: 0 });
  t.is(proxy.proxies.close(), proxy.proxies.close());
});

test('at the end what does not end by itself is cut when its time is over', async (t) => {
  const { proxy, well, stuck, kept } = await clients(t);
  const cut = Promise.all([rest(well), rest(stuck), rest(kept)]);

  const began = performance.now();
  await proxy.proxies.close(500);

  t.true(performance.now() - began >= 490);
  t.deepEqual(
    (await cut).map(({ isWhole }) => isWhole),
    [false, false, false],
  );
  t.like(proxy.proxies.tunnels.ends, { normal: 0, drain: 2 });
});

test('an end with nobody there takes no time', async (t) => {
  const proxy = await openProxies(t);
  const began = performance.now();

  await proxy.proxies.close(60_000);

  t.true(performance.now() - began < scaled(5_000));
});
