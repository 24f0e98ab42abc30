import { PassThrough } from 'node:stream';
import test from 'ava';
import type { NodeName } from '../../../../actors/node-names.ts';
import { createReach, type Reach } from '../../../../transport/tunnels/reach.ts';
import type { TunnelTarget } from '../../../../transport/tunnels/tunnel.ts';
import { NODE } from '../../../support/net/tunnels-fixture.ts';

const DOMAIN = 'edge.internal';
const signal = new AbortController().signal;

interface Asked {
  readonly targets: TunnelTarget[];
  readonly names: (readonly NodeName[])[];
}

/** A way to one machine, web-1.prod, whose tunnel takes everything. */
function wayTo(asked: Asked, isAway = false): Reach {
  return createReach({
    domain: DOMAIN,
    tunnels: {
      reach: async (_node, target) => {
        asked.targets.push(target);
        return Promise.resolve({ ok: true, stream: new PassThrough() });
      },
    },
    async nodeByName(names) {
      asked.names.push(names);
      if (isAway) throw new Error('the database is away');
      return Promise.resolve(names.some((name) => name.kind === 'alias' && name.alias === 'web-1') ? NODE : null);
    },
  });
}

test('with the username _ the machine itself is dialled, whatever its name says of the port', async (t) => {
  const asked: Asked = { targets: [], names: [] };
  const { dial, counters } = wayTo(asked);

  t.true((await dial({ username: '_', host: `web-1.prod.${DOMAIN}`, port: 8080 }, signal)).ok);

  t.deepEqual(asked.targets, [{ use: 'self', host: 'localhost', port: 8080 }]);
  t.is(counters.forward.connected, 1);
});

test('with the name of a machine as the username, what is asked for is dialled from there', async (t) => {
  const asked: Asked = { targets: [], names: [] };
  const { dial, counters } = wayTo(asked);

  t.true((await dial({ username: `web-1.cluster-prod.${DOMAIN}`, host: 'printer.lan', port: 631 }, signal)).ok);

  t.deepEqual(asked.targets, [{ use: 'chain', host: 'printer.lan', port: 631 }]);
  t.is(counters.chain.connected, 1);
});

for (const [what, username, host] of [
  ['a destination that is no machine', '_', 'example.com'],
  ['a machine that does not exist', '_', `web-2.prod.${DOMAIN}`],
  ['a username that is no machine', 'admin', 'example.com'],
  ['a username of a machine that does not exist', `web-2.prod.${DOMAIN}`, 'example.com'],
] as const) {
  test(`${what} is refused, and nothing is dialled`, async (t) => {
    const asked: Asked = { targets: [], names: [] };
    const { dial } = wayTo(asked);

    t.like(await dial({ username, host, port: 80 }, signal), { ok: false, failure: 'unknown_node' });

    t.deepEqual(asked.targets, []);
  });
}

test('with the database away nobody is told that a machine does not exist', async (t) => {
  const { dial } = wayTo({ targets: [], names: [] }, true);

  t.like(await dial({ username: '_', host: `web-1.prod.${DOMAIN}`, port: 80 }, signal), {
    ok: false,
    failure: 'overloaded',
  });
});
