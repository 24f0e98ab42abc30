/** An agent beside programs that have its ports: what it takes, what it says, and who answers in its name. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import type { NodeDiagnosisResource } from '../../../actors/resources/node-diagnosis.ts';
import { listenAt } from '../../../transport/net/streams/listen.ts';
import { startFleet } from '../../support/fleet.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { listening } from '../../support/net/listening.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { programFile } from '../../support/run/programs.ts';
import { runClient } from '../../support/ssh/openssh.ts';
import { allow, wordsTo } from '../../support/net/reach-fixture.ts';

const withSsh = await peerTest('ssh', 'ssh-keygen', 'ncat');

/** Nothing is set: as somebody starts a first agent. */
const UNSET = {
  AGENT_API_PORT: '',
  AGENT_SSH_PORT: '',
  AGENT_HOST_METRICS_PORT: '',
  AGENT_WIREGUARD_METRICS_PORT: '',
  AGENT_HTTP_PROXY_PORT: '',
  AGENT_SOCKS5_PROXY_PORT: '',
};

/** Between two tries to take a port, in ms. */
const HOLD_AGAIN_MS = 5;

const USUAL = [44_000, 40_022, 49_100, 49_586, 43_128, 41_080];

/**
 * Has a port until the end of the test. Where another test has it that is as good, for as long as it does: it is taken
 * the moment that it is free.
 */
async function hold(t: ExecutionContext, port: number): Promise<void> {
  const server = createTcpServer();
  let isOver = false;
  t.teardown(() => {
    isOver = true;
    server.close();
  });
  const take = async (): Promise<void> => {
    const { ok } = await listenAt(server, { host: '127.0.0.1', port });
    if (!ok && !isOver) setTimeout(() => void take(), HOLD_AGAIN_MS);
  };
  await take();
}

test.serial(
  'an agent beside programs that have its usual ports is well, on free ones, and says so in one line',
  async (t) => {
    for (const port of USUAL) await hold(t, port);
    const fleet = await startFleet(t);
    const agent = await fleet.addAgent(UNSET);
    await agent.live();
    await fleet.reaches(agent, 'healthy');

    const node = await fleet.node(agent);
    const report = await fleet.rest.get<NodeDiagnosisResource>(`/nodes/${agent.node}/diagnostics`);

    for (const port of [node.http_port, node.ssh_port, node.http_proxy_port, node.socks5_proxy_port])
      t.false(USUAL.includes(port), `${port}`);
    t.true(report.is_live);
    t.deepEqual(
      report.checks.filter(({ name, status }) => ['exporters', 'ssh', 'proxies'].includes(name) && status === 'fail'),
      [],
    );
    t.is(
      agent.program.lines().filter(({ msg }) => String(msg).startsWith('Other programs have usual ports')).length,
      1,
    );
    t.deepEqual(
      agent.program.lines().filter(({ level }) => level === 'warn' || level === 'error'),
      [],
    );
  },
);

test.serial(
  'a configured port in use makes the node unhealthy; its report still arrives, and not from the other program',
  async (t) => {
    const shown: string[] = [];
    const stranger = createServer((request, response) => {
      shown.push(`${request.url} ${request.headers.authorization}`);
      response.writeHead(404).end();
    });
    const port = await listening(t, stranger);
    const fleet = await startFleet(t);
    const agent = await fleet.addAgent({ AGENT_API_PORT: String(port) });
    await agent.live();
    await fleet.reaches(agent, 'unhealthy');

    const [node, report, metrics, own] = [
      await fleet.node(agent),
      await fleet.rest.get<NodeDiagnosisResource>(`/nodes/${agent.node}/diagnostics`),
      await settledAnswer(() => fleet.rest.call('GET', `/nodes/${agent.node}/metrics/agent/raw`)),
      await promisify(execFile)(process.execPath, [programFile('edge-agent'), 'doctor'], {
        env: { PATH: process.env['PATH'] ?? '', AGENT_DATA_DIR: agent.dataDirectory },
      }).catch((error: unknown) => error as { readonly stdout: string }),
    ];

    t.regex(
      node.status_reason ?? '',
      new RegExp(`^api: It does not listen on port ${port}: another program has it`, 'u'),
    );
    t.true(report.is_live);
    t.regex(
      report.checks.find(({ name }) => name === 'exporters')?.summary ?? '',
      new RegExp(`does not listen on port ${port}: another program has it`, 'u'),
    );
    t.is(metrics.status, 200);
    t.regex(own.stdout, /exporters .*another program has it/u);
    t.notRegex(own.stdout, /does not answer/u);
    t.deepEqual(shown, [], 'the stranger was asked for nothing, and saw no key');
  },
);

test.serial(
  'an admin that still has an older port of the agent asks the agent all the same, and not who has that port now',
  async (t) => {
    let strangers = 0;
    const port = await listening(
      t,
      createTcpServer((socket) => {
        strangers += 1;
        socket.destroy();
      }),
    );
    const fleet = await startFleet(t, { agents: 1 });
    const [agent] = fleet.agents;
    await fleet.sql('update node set http_port = $2, host_metrics_port = $2 where id = $1', [agent?.node, port]);

    const report = await fleet.rest.get<NodeDiagnosisResource>(`/nodes/${agent?.node}/diagnostics`);
    const metrics = await settledAnswer(() => fleet.rest.call('GET', `/nodes/${agent?.node}/metrics/host/raw`));

    t.true(report.is_live);
    t.is(metrics.status, 200);
    t.is(strangers, 0);
  },
);

withSsh("SSH to a node whose port is another server's comes to the node", async (t) => {
  let strangers = 0;
  const port = await listening(
    t,
    createTcpServer((socket) => {
      strangers += 1;
      socket.end('SSH-2.0-stranger\r\n');
    }),
  );
  const fleet = await startFleet(t);
  const agent = await fleet.addAgent({ AGENT_SSH_PORT: String(port) });
  await agent.live();
  const login = await allow(fleet, agent.node, 'ann', fleet.directory);
  const node = await fleet.node(agent);

  const ended = await runClient(t, 'ssh', [...wordsTo(node, login, fleet.admin()), 'echo me']);

  t.is(ended.stdout, 'me\n', ended.stderr);
  t.is(strangers, 0);
});
