/** How streams leave the machine: real sockets, a real DNS server, and tripwires where nobody may come (R2). */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { CountedEgress, type EgressOptions } from '../../../../agent/access/egress/dialler.ts';
import type { EgressUse } from '../../../../agent/access/egress/egress.ts';
import { resolverBy } from '../../../../transport/net/guard/resolution.ts';
import { BUSY_MS, patient } from '../../../support/busy.ts';
import { until } from '../../../support/until.ts';
import { startBlackHole } from '../guard/black-hole.ts';
import { startDnsServer, type Answer, type Question } from '../../../support/dns-server.ts';
import { startTripwire } from '../guard/tripwire.ts';
import { listening } from '../../../support/listening.ts';

type Options = Omit<EgressOptions, 'rules'> & { readonly rules?: Partial<EgressOptions['rules']> };

const USES: readonly EgressUse[] = ['self', 'chain', 'proxy', 'ssh'];

function egressWith(options: Options = {}): CountedEgress {
  return new CountedEgress({
    ...options,
    rules: { blockedPorts: ['25'], blockedHosts: [], allowedHosts: [], servedPorts: [], ...options.rules },
  });
}

/** Egress whose names come from a server of the test. */
async function egressWithNames(
  t: ExecutionContext,
  answer: (question: Question) => Answer | Promise<Answer>,
  options: Options = {},
): Promise<{ egress: CountedEgress; questions: string[] }> {
  const { server, questions } = await startDnsServer(t, answer);
  return { egress: egressWith({ ...options, resolve: resolverBy([server]) }), questions };
}

/** A port on which nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Dials; the stream, if there is one, is ended with the test. */
async function dial(
  t: ExecutionContext,
  egress: CountedEgress,
  host: string,
  port: number,
  use: EgressUse,
  signal: AbortSignal = new AbortController().signal,
): Promise<Duplex | { failure: string; message: string }> {
  const dialled = await egress.dial({ host, port }, use, signal);
  if (!dialled.ok) return { failure: dialled.failure, message: dialled.message };
  t.teardown(() => {
    dialled.stream.destroy();
  });
  return dialled.stream;
}

/** What became of a dial, in a word. */
async function outcome(...dialled: Parameters<typeof dial>): Promise<string> {
  const found = await dial(...dialled);
  if ('failure' in found) return found.failure;
  found.destroy();
  return 'open';
}

/** Dials this machine, and leaves the stream alone. */
async function outcomeKept(t: ExecutionContext, egress: CountedEgress, port: number): Promise<boolean> {
  return !('failure' in (await dial(t, egress, '', port, 'self')));
}

test.serial('forward mode reaches this machine alone, whatever host was asked for, on IPv4 and on IPv6', async (t) => {
  const tripwire = await startTripwire(t);
  const ports = [
    await listening(
      t,
      createServer((socket) => {
        socket.end('v4');
      }),
    ),
    await listening(
      t,
      createServer((socket) => {
        socket.end('v6');
      }),
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
  const port = await listening(
    t,
    createServer({ allowHalfOpen: true }, (socket) => {
      const pieces: Buffer[] = [];
      socket
        .on('error', () => {})
        .on('data', (piece) => pieces.push(piece))
        .on('end', () => socket.end(Buffer.concat(pieces)));
    }),
  );
  const stream = await dial(t, egressWith(), '', port, 'self');
  if ('failure' in stream) throw new Error(stream.message);

  stream.end('all of it');

  t.is(String(((await once(stream, 'data')) as [Buffer])[0]), 'all of it');
});

test.serial(
  'only a logged-in user reaches loopback by its address or name, as from a shell; nobody else sends it a packet',
  async (t) => {
    const tripwire = await startTripwire(t);
    const { egress } = await egressWithNames(t, () => ({ addresses: ['127.0.0.1'] }));
    const hosts = ['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'self.example.com'];

    const outcomes = await Promise.all(
      (['chain', 'proxy', 'ssh'] as const).map((use) =>
        Promise.all(hosts.map((host) => outcome(t, egress, host, tripwire.port, use))),
      ),
    );

    t.deepEqual(outcomes, [hosts.map(() => 'blocked'), hosts.map(() => 'blocked'), hosts.map(() => 'open')]);
    await until('what was dialled to arrive', () => tripwire.arrived.length === hosts.length);
    t.is(tripwire.dialled().length, hosts.length);
  },
);

test.serial('localhost is refused to proxies, whatever DNS says of it', async (t) => {
  const tripwire = await startTripwire(t);

  const refused = await dial(t, egressWith(), 'LocalHost.', tripwire.port, 'proxy');

  t.deepEqual(
    [refused, tripwire.dialled()],
    [
      {
        failure: 'blocked',
        message: 'localhost. resolves to a loopback or reserved address, which must not be reached.',
      },
      [],
    ],
  );
});

test.serial('a name is asked for once a dial, and what it says later leads nowhere', async (t) => {
  const tripwire = await startTripwire(t);
  const { egress, questions } = await egressWithNames(t, ({ asked }) => ({
    addresses: [asked === 0 ? '127.0.0.2' : '127.0.0.3'],
  }));

  t.is(await outcome(t, egress, 'rebound.example.com', tripwire.port, 'ssh'), 'open');

  t.deepEqual(
    [tripwire.dialled(), questions.toSorted()],
    [['127.0.0.2'], ['A rebound.example.com', 'AAAA rebound.example.com']],
  );
});

test.serial(
  'a name that turns bad is refused from then on, and one bad address among good ones refuses all',
  async (t) => {
    const tripwire = await startTripwire(t);
    const { egress } = await egressWithNames(t, ({ name }) => ({
      addresses: name === 'mixed.example.com' ? ['10.255.0.1', '127.0.0.1'] : ['127.0.0.1'],
    }));

    t.deepEqual(
      await Promise.all(
        ['rebound.example.com', 'mixed.example.com'].map((name) => outcome(t, egress, name, tripwire.port, 'chain')),
      ),
      ['blocked', 'blocked'],
    );
    t.deepEqual([tripwire.dialled(), tripwire.arrived], [[], []]);
  },
);

test.serial('what cannot be reached says why in a sentence that repeats what was asked for', async (t) => {
  const { egress } = await egressWithNames(t, () => 'no-such-name');
  const port = await closedPort();

  t.deepEqual(
    await Promise.all([
      dial(t, egress, '', port, 'self'),
      dial(t, egress, '127.0.0.1', port, 'ssh'),
      dial(t, egress, '[::1]', port, 'ssh'),
      dial(t, egress, 'nowhere.example.com', port, 'proxy'),
      dial(t, egress, '169.254.169.254', port, 'ssh'),
      dial(t, egress, 'metadata.google.internal', port, 'chain'),
      dial(t, egress, 'a..b', port, 'proxy'),
      dial(t, egress, 'a:b\r\nX: y', port, 'proxy'),
      dial(t, egress, 'fe80::1%lo', port, 'ssh'),
      dial(t, egress, '0x7f.1', port, 'proxy'),
      dial(t, egress, '10.0.0.1', 0, 'proxy'),
      dial(t, egress, '10.0.0.1', 65_536, 'proxy'),
    ]),
    [
      { failure: 'refused', message: `Port ${port} of the machine refuses connections: nothing listens there.` },
      { failure: 'refused', message: `127.0.0.1:${port} refuses connections: nothing listens there.` },
      { failure: 'refused', message: `[::1]:${port} refuses connections: nothing listens there.` },
      { failure: 'unresolved', message: 'nowhere.example.com does not resolve.' },
      {
        failure: 'blocked',
        message: '169.254.169.254 is a metadata, reserved or translated address, which is never reached.',
      },
      { failure: 'blocked', message: 'metadata.google.internal is a metadata service, which must not be reached.' },
      { failure: 'blocked', message: 'The host is not a valid name.' },
      { failure: 'blocked', message: 'The host is neither a name nor an address.' },
      { failure: 'blocked', message: 'The host is neither a name nor an address.' },
      { failure: 'blocked', message: 'The host is not a valid name.' },
      { failure: 'blocked', message: 'The port must be from 1 to 65535.' },
      { failure: 'blocked', message: 'The port must be from 1 to 65535.' },
    ],
  );
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
    const port = await listening(
      t,
      createServer((socket) => {
        socket.end();
      }),
    );
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
  const port = await closedPort();
  await startBlackHole(t, '127.0.0.6', port);
  const { egress } = await egressWithNames(t, () => ({ addresses: ['127.0.0.7', '127.0.0.6'] }), { dialMsMax: 200 });

  t.is(await outcome(t, egress, 'two.example.com', port, 'ssh'), 'refused');
});

test.serial('who goes away is not dialled for any longer, neither in DNS nor in TCP', async (t) => {
  const port = await closedPort();
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
  t.true(performance.now() - startedMs < patient(BUSY_MS));
});

test.serial('who waits and who is connected are counted, each use by itself', async (t) => {
  const port = await listening(
    t,
    createServer((socket) => {
      socket.on('error', () => {}).resume();
    }),
  );
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

  const opened = await outcomeKept(t, egress, port);
  const [socket] = await connected;
  socket.resetAndDestroy();

  t.true(opened);
  await until('the stream to be gone', () => egress.counts().open === 0);
});

test.serial(
  'blocked ports are closed to every use, except that the agent itself can always be reached by the admin',
  async (t) => {
    const tripwire = await startTripwire(t);
    const served = await listening(
      t,
      createServer((socket) => {
        socket.end();
      }),
    );
    const egress = egressWith({
      rules: { blockedPorts: ['25', `${tripwire.port}`, `${served}-${served}`], servedPorts: [served] },
    });

    t.deepEqual(
      await Promise.all(USES.map((use) => dial(t, egress, '127.0.0.1', tripwire.port, use))),
      USES.map(() => ({
        failure: 'blocked',
        message: `Port ${tripwire.port} is blocked by the operator of this machine.`,
      })),
    );
    t.deepEqual(tripwire.dialled(), []);
    t.deepEqual(await Promise.all(USES.map((use) => outcome(t, egress, '127.0.0.1', served, use))), [
      'open',
      'blocked',
      'blocked',
      'blocked',
    ]);
  },
);

test.serial(
  'hosts that the operator opens are reached, those that he blocks are not, and blocked comes first',
  async (t) => {
    const tripwire = await startTripwire(t);
    const { egress, questions } = await egressWithNames(t, () => ({ addresses: ['127.0.0.5'] }), {
      rules: {
        allowedHosts: ['127.0.0.0/24', 'box.example.com', '*.open.example.com'],
        blockedHosts: ['127.0.0.9', '*.bad.example.com', 'box.open.example.com'],
      },
    });
    const hosts = [
      '127.0.0.1',
      '127.0.1.1',
      '127.0.0.9',
      'Box.Example.com',
      'other.example.com',
      'a.b.open.example.com',
      'box.open.example.com',
      'a.bad.example.com',
    ];

    const outcomes = await Promise.all(hosts.map((host) => outcome(t, egress, host, tripwire.port, 'proxy')));

    t.deepEqual(outcomes, ['open', 'blocked', 'blocked', 'open', 'open', 'open', 'blocked', 'blocked']);
    t.deepEqual(
      questions.filter((question) => question.includes('bad.example.com') || question.includes('box.open.')),
      [],
    );
  },
);

test.serial('nobody is sent back to the proxies of the agent, by none of its addresses', async (t) => {
  const tripwire = await startTripwire(t);
  const own = Object.values(networkInterfaces())
    .flat()
    .flatMap((address) =>
      address?.internal === false && !address.address.startsWith('fe80:') ? [address.address] : [],
    );
  const everywhere = egressWith({ proxies: () => [{ address: '0.0.0.0', port: tripwire.port }] });
  const { egress: inside } = await egressWithNames(t, () => ({ addresses: ['127.0.0.1'] }), {
    rules: { allowedHosts: ['127.0.0.0/8'] },
    proxies: () => [{ address: '127.0.0.1', port: tripwire.port }],
  });

  const outcomes = await Promise.all([
    ...['127.0.0.1', '::1', ...own].flatMap((host) =>
      (['chain', 'proxy'] as const).map((use) => outcome(t, everywhere, host, tripwire.port, use)),
    ),
    outcome(t, inside, '127.0.0.1', tripwire.port, 'proxy'),
    outcome(t, inside, 'self.example.com', tripwire.port, 'chain'),
  ]);

  t.deepEqual([[...new Set(outcomes)], tripwire.dialled()], [['loop'], []]);
  t.deepEqual(await dial(t, inside, '127.0.0.1', tripwire.port, 'proxy'), {
    failure: 'loop',
    message: `127.0.0.1:${tripwire.port} is a proxy of this very machine.`,
  });
  t.deepEqual(
    [await outcome(t, inside, '127.0.0.1', tripwire.port, 'ssh'), await outcome(t, inside, '', tripwire.port, 'self')],
    ['open', 'open'],
  );
});
