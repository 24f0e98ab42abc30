/** Paths whose other end goes without a word: the system is asked to look whether it is there. */
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { connect } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import test from 'ava';
import { dial, KEEP_ALIVE_MS } from '../../../../cli/reach/dial.ts';
import { startForwards } from '../../../../cli/reach/local-forwards.ts';
import type { Proxy } from '../../../../cli/reach/proxy.ts';
import { certificates, trust } from '../../../support/net/certificates.ts';
import { listening } from '../../../support/net/listening.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

/** Ticks of the timers in /proc/net/tcp, per second. Source: proc(5), USER_HZ. */
const TICKS_PER_S = 100;

/** The kind of a timer that is a question whether the other end is there. Source: get_tcp4_sock() of Linux. */
const KEEP_ALIVE = '02';

/** When the system asks whether the other end of a connection of loopback is there, in ms; null: never. */
function askedInMs(localPort: number, remotePort: number): number | null {
  const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');
  const row = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/u))
    .find(([, local, remote]) => local?.endsWith(`:${hex(localPort)}`) && remote?.endsWith(`:${hex(remotePort)}`));
  const [kind, ticks = ''] = row?.[5]?.split(':') ?? [];
  return kind === KEEP_ALIVE ? (Number.parseInt(ticks, 16) * 1_000) / TICKS_PER_S : null;
}

/** Soon enough that the other end is not waited for in vain, whatever of the time is over. */
async function isAsked(localPort: number, remotePort: number): Promise<boolean> {
  const inMs = await until('the system will ask', () => askedInMs(localPort, remotePort));
  return inMs <= KEEP_ALIVE_MS;
}

/** Takes every connection, and says nothing more. */
const silent = (socket: Socket): void =>
  void socket.once('data', () => socket.write('HTTP/1.1 200 Connection established\r\n\r\n'));

const proxyAt = (port: number, isTls: boolean): Proxy => ({
  url: `http://127.0.0.1:${port}`,
  host: '127.0.0.1',
  port,
  isTls,
  key: null,
  told: null,
});

const WAY = { username: '_', host: 'web-1.prod.edge.internal', port: 22 };

for (const isTls of [false, true])
  test(`a stream by ${isTls ? 'TLS' : 'TCP'} to a machine is cut where the admin has gone without a word`, async (t) => {
    const own = isTls ? await certificates(temporaryDirectory(t)) : null;
    trust(own);
    const port = await listening(
      t,
      own === null
        ? createServer(silent)
        : createTlsServer({ cert: readFileSync(own.server), key: readFileSync(own.serverKey) }, silent),
    );

    const socket = await dial(proxyAt(port, isTls), WAY);
    t.teardown(() => socket.destroy());

    t.true(await isAsked(socket.localPort!, port));
  });

test('whoever uses a forward from another machine and goes without a word takes no place for good', async (t) => {
  const port = await listening(t, createServer(silent));
  const running = await startForwards(
    [{ listen: { host: '127.0.0.1', port: 0 }, target: { host: 'localhost', port: 80 } }],
    { proxy: proxyAt(port, false), nodeHost: WAY.host, failed: (line) => t.log(line) },
  );
  t.teardown(() => running.close());
  const listens = running.forwards[0]!.listen.port;

  const client = connect(listens, '127.0.0.1');
  t.teardown(() => client.destroy());
  await until('it is connected', () => client.localPort !== undefined && !client.connecting);

  t.true(await isAsked(listens, client.localPort!));
});
