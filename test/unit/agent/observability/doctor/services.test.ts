/** Checks of the agent's services, against ports that are closed, taken, or held by something else. */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { diagnose } from '../../../../../agent/observability/doctor/check.ts';
import { coreChecks, portChecks, type ServiceSources } from '../../../../../agent/observability/doctor/services.ts';
import { sshCheck, type SshSources } from '../../../../../agent/observability/doctor/ssh.ts';
import { openHostKey } from '../../../../../agent/access/ssh/host-key.ts';
import { SETPRIV_PATHS } from '../../../../../agent/access/ssh/sessions/launch.ts';
import { AGENT_DIAGNOSTICS_PATH } from '../../../../../transport/protocol/agent-api.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { freePort } from '../../../../support/net/free-ports.ts';
import { listening } from '../../../../support/net/listening.ts';
import { column } from '../../../../support/database/columns.ts';

const saying = (text: string) =>
  createServer((socket) => {
    socket.resume().on('error', () => {});
    if (text !== '') socket.write(text);
  });

/** What an agent serves on its ports, as far as these checks look. */
const agentLike = () =>
  createHttpServer((request, response) => {
    response.writeHead(request.url === AGENT_DIAGNOSTICS_PATH ? 401 : 200).end('# metrics\n');
  });

async function sources(t: ExecutionContext, more: Partial<ServiceSources> = {}): Promise<ServiceSources> {
  const web = await listening(t, agentLike());
  const proxy = await listening(t, saying(''));
  return {
    services: () => [],
    session: () => ({ isLive: true, refusal: null, adminUrl: 'https://user:hunter22@admin.example/x', sinceMs: 1_000 }),
    journal: () => ({ waiting: 1, started: 2, unconfirmed: 3 }),
    ports: () => ({
      http_port: web,
      host_metrics_port: web,
      wireguard_metrics_port: web,
      http_proxy_port: proxy,
      socks5_proxy_port: proxy,
    }),
    proxyHosts: ['127.0.0.1'],
    isProxyEnabled: true,
    openProxies: null,
    ...more,
  };
}

/** Timeout of a check that has an answer coming, in ms: far above what one takes on a busy machine. */
const ANSWERED_MS_MAX = 30_000;

async function looked(from: ServiceSources) {
  const { checks } = await diagnose([...coreChecks(from), ...portChecks(from)], {
    checkMsMax: ANSWERED_MS_MAX,
    totalMsMax: ANSWERED_MS_MAX,
  });
  return Object.fromEntries(checks.map((check) => [check.name, check]));
}

test("services that all work pass, and credentials of the admin's URL are not told", async (t) => {
  const found = await looked(await sources(t));

  t.deepEqual(
    Object.entries(found).map(([name, { status }]) => [name, status]),
    ['session', 'journal', 'runner', 'proxies', 'exporters'].map((name) => [name, 'pass']),
  );
  t.notRegex(JSON.stringify(found), /hunter22/u);
  t.is(
    found['session']?.summary,
    'The agent has had a session with https://admin.example since 1970-01-01T00:00:01.000Z.',
  );
});

test('a lost session, and the problem of a service, are told as they are', async (t) => {
  const from = await sources(t, {
    session: () => ({ isLive: false, refusal: null, adminUrl: null, sinceMs: null }),
    services: () => [
      { name: 'journal', problem: () => 'the disk is full' },
      { name: 'runner', problem: () => 'it cannot start processes' },
      { name: 'http_proxy', problem: () => 'It does not listen on port 1: another program has it.' },
      { name: 'host_metrics', problem: () => 'it does not listen' },
    ],
  });

  const found = await looked(from);

  t.deepEqual(column(Object.values(found), 'status'), ['fail', 'fail', 'fail', 'fail', 'fail']);
  t.deepEqual(
    [found['journal']?.summary, found['proxies']?.summary],
    ['The disk is full.', 'It does not listen on port 1: another program has it.'],
  );
});

test('what cannot be ended is a warning, unless nothing can be started either', async (t) => {
  const note = () => 'executions that cannot be ended: 1; processes that live on after KILL: 4711';
  const [alone, beside] = [
    await looked(await sources(t, { services: () => [{ name: 'runner', problem: () => null, note }] })),
    await looked(await sources(t, { services: () => [{ name: 'runner', problem: () => 'no memory', note }] })),
  ];

  t.like(alone['runner'], {
    status: 'warn',
    summary: 'Executions that cannot be ended: 1; processes that live on after KILL: 4711.',
  });
  t.like(beside['runner'], { status: 'fail', summary: 'No memory.' });
});

test('ports at which nobody answers, and ports that another program holds, fail', async (t) => {
  const from = await sources(t);
  const closed = await freePort();
  const stranger = await listening(
    t,
    createHttpServer((_request, response) => {
      response.end('hello');
    }),
  );

  const [proxy, exporter, taken] = [
    await looked({ ...from, ports: () => ({ ...from.ports(), socks5_proxy_port: closed }) }),
    await looked({ ...from, ports: () => ({ ...from.ports(), wireguard_metrics_port: closed }) }),
    await looked({ ...from, ports: () => ({ ...from.ports(), http_port: stranger }) }),
  ];

  t.deepEqual(
    [proxy['proxies']?.status, exporter['exporters']?.status, taken['exporters']?.status],
    ['fail', 'fail', 'fail'],
  );
  t.is(exporter['exporters']?.summary, 'The server wireguard_metrics does not answer.');
  t.is(taken['exporters']?.summary, 'The server api answers with status 200.');
});

test('proxies that let in everybody are warned of', async (t) => {
  const found = await looked(await sources(t, { openProxies: 'Anybody gets in.' }));

  t.deepEqual([found['proxies']?.status, found['proxies']?.summary], ['warn', 'Anybody gets in.']);
});

test('proxies that are switched off pass, and say so', async (t) => {
  const found = await looked(await sources(t, { isProxyEnabled: false, ports: () => ({}) }));

  t.deepEqual([found['proxies']?.status, found['exporters']?.status], ['pass', 'fail']);
  t.regex(found['proxies']?.summary ?? '', /switched off/u);
});

test('an SSH server that answers passes with its fingerprint; silent, strange or missing it fails; no setpriv warns', async (t) => {
  const hostKeyPath = join(temporaryDirectory(t), 'key');
  const key = openHostKey(hostKeyPath);
  const [well, silent, strange, closed] = [
    await listening(t, saying('SSH-2.0-edge-agent\r\n')),
    await listening(t, saying('')),
    await listening(t, saying('come again later\r\n')),
    await freePort(),
  ];
  const look = async (more: Partial<SshSources>, checkMsMax = ANSWERED_MS_MAX) => {
    const {
      checks: [check],
    } = await diagnose(
      [
        sshCheck({
          isEnabled: true,
          hostKeyPath,
          port: () => well,
          problem: () => null,
          isRoot: true,
          setprivPaths: SETPRIV_PATHS,
          ...more,
        }),
      ],
      { checkMsMax, totalMsMax: ANSWERED_MS_MAX },
    );
    return check;
  };

  const found = await Promise.all([
    look({}),
    look({ isRoot: false }),
    look({ setprivPaths: ['/nowhere/setpriv'] }),
    look({ port: () => silent }, 500),
    ...[
      { port: () => strange },
      { port: () => closed },
      { port: () => null },
      { problem: () => 'the SSH host key is damaged' },
      { isEnabled: false },
    ].map((more) => look(more)),
  ]);

  t.deepEqual(
    found.map((check) => check?.status),
    ['pass', 'pass', 'warn', 'fail', 'fail', 'fail', 'fail', 'fail', 'pass'],
  );
  t.deepEqual(
    [found[0]?.details?.['host_key'], found[0]?.details?.['becomes_accounts']],
    [key.ok ? key.fingerprint : '', true],
  );
  t.regex(found[2]?.hint ?? '', /util-linux/u);
});

test('a server that never ends what it says is read no further than its status', async (t) => {
  const closed: Promise<unknown>[] = [];
  const web = createHttpServer((request, response) => {
    closed.push(once(response, 'close'));
    response.writeHead(request.url === AGENT_DIAGNOSTICS_PATH ? 401 : 200).write('and so on\n'); // and no end
  });
  const port = await listening(t, web);
  const ports = () => ({ http_port: port, host_metrics_port: port, wireguard_metrics_port: port });

  const found = await looked(await sources(t, { ports, isProxyEnabled: false }));
  await Promise.all(closed);

  t.is(found['exporters']?.status, 'pass');
  t.is(closed.length, 3);
});
