/** Which ports an agent takes when nobody chose them. */
import { createServer } from 'node:net';
import test from 'ava';
import { withFreePorts } from '../../../agent/free-ports.ts';
import { listenForAdmins } from '../../../agent/listening.ts';
import { OwnServers } from '../../../agent/own-servers.ts';
import { DEFAULT_PORTS, PORT_SETTINGS } from '../../../agent/served-ports.ts';
import { listenAt } from '../../../transport/net/streams/listen.ts';
import { givenConfig } from '../../support/agent/agent-config.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { listening } from '../../support/net/listening.ts';
import { recordingLog } from '../../support/log.ts';

test.serial('a usual port that another program has becomes a free one, and one line says which', async (t) => {
  for (const setting of PORT_SETTINGS) {
    const server = createServer();
    await listenAt(server, { host: '127.0.0.1', port: DEFAULT_PORTS[setting] }); // or somebody else has it: as good
    t.teardown(() => server.close());
  }
  const log = recordingLog();

  const { config, picked } = await withFreePorts(givenConfig({}), log);

  const ports = PORT_SETTINGS.map((setting) => config[setting]);
  t.is(new Set([...ports, ...Object.values(DEFAULT_PORTS)]).size, 2 * PORT_SETTINGS.length, ports.join(' '));
  t.deepEqual([...picked], [...PORT_SETTINGS]);
  t.is(log.lines.length, 1);
  t.regex(
    log.lines[0]?.message ?? '',
    new RegExp(
      `usual ports of the agent, .*: AGENT_API_PORT ${config.AGENT_API_PORT} instead of 44000, AGENT_SSH_PORT `,
      'u',
    ),
  );
});

test.serial('a port that was chosen stays, also where it is taken; 0 is any, and nothing is said of it', async (t) => {
  const taken = await listening(t, createServer());
  const log = recordingLog();
  const off = { AGENT_PROXY_ENABLED: 'false', AGENT_SSH_ENABLED: 'false' };
  const chosen = { AGENT_API_PORT: String(taken), AGENT_HOST_METRICS_PORT: '0', AGENT_WIREGUARD_METRICS_PORT: '0' };

  const { config, picked } = await withFreePorts(givenConfig({ ...off, ...chosen }), log);

  t.is(config.AGENT_API_PORT, taken);
  t.false(picked.has('AGENT_API_PORT'));
  t.true(config.AGENT_HOST_METRICS_PORT > 0 && picked.has('AGENT_HOST_METRICS_PORT'));
  t.deepEqual(log.lines, []);
});

test('where another program has the port on loopback, admins get a place of their own, and never that program', async (t) => {
  const taken = await listening(t, createServer());
  const newServer = () => {
    const server = createServer();
    t.teardown(() => server.close());
    return server;
  };

  const one = await listenForAdmins({ hosts: ['127.0.0.1'], port: taken, orAnother: false, newServer });
  const two = await listenForAdmins({ hosts: ['127.0.0.9', '127.0.0.1'], port: taken, orAnother: false, newServer });
  const free = await freePort();
  const good = await listenForAdmins({ hosts: ['0.0.0.0'], port: free, orAnother: false, newServer });

  t.is(one.port, null);
  t.deepEqual(
    one.failures.map(({ port, reason }) => [port, reason]),
    [[taken, 'another program has it']],
  );
  t.is(two.port, taken);
  for (const { place } of [one, two]) t.true(place?.address === '127.0.0.1' && place.port !== taken);
  t.deepEqual([good.port, good.place, good.failures], [free, { address: '127.0.0.1', port: free }, []]);
});

test('a server is found by its name or by the port that admins were told, and nobody else is found in its place', (t) => {
  const own = new OwnServers();
  const place = { address: '127.0.0.1', port: 5_001 };
  own.tell('api', 44_000, place);
  own.tell('ssh', 40_022, null);

  t.deepEqual(own.find({ server: 'api', port: 1 }), place);
  t.deepEqual(own.find({ port: 44_000 }), place);
  t.deepEqual(own.find({ port: 5_001 }), place);
  t.is(own.find({ port: 40_022 }), null);
  t.is(own.find({ server: 'ssh', port: 22 }), null);
  t.is(own.find({ server: 'host_metrics', port: 49_100 }), null);
  t.is(own.find({ port: 22 }), undefined);
});
