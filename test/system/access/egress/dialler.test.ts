/** How streams leave the machine: real sockets, a real DNS server, and what becomes of a dial that fails. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { BUSY_MS, scaled } from '../../../support/busy.ts';
import { freePort } from '../../../support/net/free-ports.ts';
import { hashing, listening, sha256, silentPort, target } from '../../../support/net/listening.ts';
import { until } from '../../../support/until.ts';
import { startBlackHole } from '../guard/black-hole.ts';
import { startTripwire } from '../guard/tripwire.ts';
import { dial, egressWith, egressWithNames, outcome } from './fixture.ts';

test.serial('forward mode reaches this machine alone, whatever host was asked for, on IPv4 and on IPv6', async (t) => {
  const tripwire = await startTripwire(t);
  const ports = [
    await target(t, (socket) => socket.end('v4')),
    await listening(
      t,
      createServer((socket) => socket.end('v6')),
      '::1',
    ),
  ];

  const said = await Promise.all(
    ports.map(async (port) => {
      const stream = await dial(t, egressWith(), '198.51.100.7', port, 'self');
      return 'failure' in stream ? stream.message : String(((await once(stream, 'data')) as [Buffer])[0]);
    }),
  );

  t.deepEqual(
    [said, tripwire.dialled().filter((address) => !['127.0.0.1', '::1'].includes(address))],
    [['v4', 'v6'], []],
  );
});

test.serial('a stream can be ended on one side while the other goes on', async (t) => {
  const port = await hashing(t);
  const stream = await dial(t, egressWith(), '', port, 'self');
  if ('failure' in stream) throw new Error(stream.message);

  stream.end('all of it');

  t.is(await text(stream), sha256('all of it'));
});

test.serial('what cannot be reached says why in a sentence that repeats what was asked for', async (t) => {
  const { egress } = await egressWithNames(t, () => 'no-such-name');
  const port = await freePort();

  const reserved = '169.254.169.254 is a metadata, reserved or translated address, which is never reached.';
  const metadata = 'metadata.google.internal is a metadata service, which must not be reached.';

  for (const [host, at, use, failure, message] of [
    ['', port, 'self', 'refused', `Port ${port} of the machine refuses connections: nothing listens there.`],
    ['127.0.0.1', port, 'ssh', 'refused', `127.0.0.1:${port} refuses connections: nothing listens there.`],
    ['[::1]', port, 'ssh', 'refused', `[::1]:${port} refuses connections: nothing listens there.`],
    ['nowhere.example.com', port, 'proxy', 'unresolved', 'nowhere.example.com does not resolve.'],
    ['169.254.169.254', port, 'ssh', 'blocked', reserved],
    ['metadata.google.internal', port, 'chain', 'blocked', metadata],
    ['a..b', port, 'proxy', 'blocked', 'The host is not a valid name.'],
    ['a:b\r\nX: y', port, 'proxy', 'blocked', 'The host is neither a name nor an address.'],
    ['fe80::1%lo', port, 'ssh', 'blocked', 'The host is neither a name nor an address.'],
    ['0x7f.1', port, 'proxy', 'blocked', 'The host is not a valid name.'],
    ['10.0.0.1', 0, 'proxy', 'blocked', 'The port must be from 1 to 65535.'],
    ['10.0.0.1', 65_536, 'proxy', 'blocked', 'The port must be from 1 to 65535.'],
  ] as const)
    t.deepEqual(await dial(t, egress, host, at, use), { failure, message });
  t.like(egress.counts(), {
    opened: 0,
    open: 0,
    failures: { refused: 3, unresolved: 1, blocked: 8 },
    blocked: { port: 2, host: 6 },
  });
});

test.serial(
  'an address that swallows what is sent to it is left for the next, and alone it is given up at the limit',
  async (t) => {
    const port = await target(t, (socket) => socket.end());
    await startBlackHole(t, '127.0.0.6', port);
    const { egress } = await egressWithNames(t, () => ({ addresses: ['127.0.0.6', '127.0.0.1'] }));

    t.is(await outcome(t, egress, 'two.example.com', port, 'ssh'), 'open');
    t.deepEqual(await dial(t, egressWith({ dialMsMax: 200 }), '127.0.0.6', port, 'ssh'), {
      failure: 'timed_out',
      message: `127.0.0.6:${port} did not answer in time.`,
    });
  },
);

test.serial('of several addresses that fail, an answer is told rather than silence', async (t) => {
  const port = await freePort();
  await startBlackHole(t, '127.0.0.6', port);
  const { egress } = await egressWithNames(t, () => ({ addresses: ['127.0.0.7', '127.0.0.6'] }), {
    dialMsMax: scaled(2_000), // the name is looked up, and the first address refuses, within it
  });

  t.is(await outcome(t, egress, 'two.example.com', port, 'ssh'), 'refused');
});

test.serial('who goes away is not dialled for any longer, neither in DNS nor in TCP', async (t) => {
  const port = await freePort();
  await startBlackHole(t, '127.0.0.6', port);
  const asked = Promise.withResolvers<void>();
  const { egress } = await egressWithNames(t, () => {
    asked.resolve();
    return 'silence';
  });
  const gone = new AbortController();
  const outcomes = Promise.all([
    outcome(t, egress, 'silent.example.com', port, 'ssh', gone.signal),
    outcome(t, egress, '127.0.0.6', port, 'ssh', gone.signal),
    outcome(t, egress, '127.0.0.6', port, 'ssh', AbortSignal.abort()),
  ]);
  await asked.promise;
  const startedMs = performance.now();

  gone.abort();

  t.deepEqual(await outcomes, ['unresolved', 'timed_out', 'timed_out']);
  t.true(performance.now() - startedMs < scaled(BUSY_MS));
});

test.serial('who waits and who is connected are counted, each use by itself', async (t) => {
  const port = await silentPort(t);
  const { egress } = await egressWithNames(t, () => 'silence', { dialsMax: 1, streamsMax: 2 });
  const gone = new AbortController();
  const waiting = outcome(t, egress, 'silent.example.com', port, 'ssh', gone.signal);

  t.deepEqual(await dial(t, egress, '127.0.0.1', port, 'ssh'), {
    failure: 'overloaded',
    message: 'The machine has too many connections open: try again later.',
  });
  t.is(await outcome(t, egress, '', port, 'self'), 'open');
  gone.abort();
  t.is(await waiting, 'unresolved');

  const streams = [await dial(t, egress, '127.0.0.1', port, 'ssh'), await dial(t, egress, '127.0.0.1', port, 'ssh')];
  t.deepEqual(
    streams.filter((stream) => 'failure' in stream),
    [],
  );
  t.is(await outcome(t, egress, '127.0.0.1', port, 'ssh'), 'overloaded');
  await until('the stream of before to be gone', () => egress.counts().open === 2);
  for (const stream of streams) if (!('failure' in stream)) stream.destroy();
  await until('all streams to be gone', () => egress.counts().open === 0);
  t.is(await outcome(t, egress, '127.0.0.1', port, 'ssh'), 'open');
});

test.serial('a connection that breaks while nobody listens to it does not end the program', async (t) => {
  const server = createServer();
  const port = await listening(t, server);
  const connected = once(server, 'connection') as Promise<[Socket]>;
  const egress = egressWith();

  const dialled = await dial(t, egress, '', port, 'self');
  const [socket] = await connected;
  socket.resetAndDestroy();

  t.false('failure' in dialled);
  await until('the stream to be gone', () => egress.counts().open === 0);
});
