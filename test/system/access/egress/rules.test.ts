/** Who may be dialled, by the rules of the machine and of its operator: tripwires stand where nobody may come (R2). */
import { networkInterfaces } from 'node:os';
import test from 'ava';
import type { EgressUse } from '../../../../agent/access/egress/egress.ts';
import { target } from '../../../support/net/listening.ts';
import { until } from '../../../support/until.ts';
import { startTripwire } from '../guard/tripwire.ts';
import { dial, egressWith, egressWithNames, outcome } from './fixture.ts';

const USES: readonly EgressUse[] = ['self', 'chain', 'proxy', 'ssh'];

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

test.serial(
  'blocked ports are closed to every use, except that the agent itself can always be reached by the admin',
  async (t) => {
    const tripwire = await startTripwire(t);
    const served = await target(t, (socket) => socket.end());
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
