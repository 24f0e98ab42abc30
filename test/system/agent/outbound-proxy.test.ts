/** An agent that reaches its admin through an HTTP proxy and in no other way, by TLS as in the open. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { once } from 'node:events';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import type { NodeDiagnosisResource } from '../../../actors/resources/node-diagnosis.ts';
import { startFleet } from '../../support/fleet.ts';
import { programFile } from '../../support/run/programs.ts';
import { certificates } from '../../support/net/certificates.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** What no machine resolves: whoever connects to it does so through the proxy. */
const HOST = 'edge.proxied.test';
const CREDENTIALS = 'fleet:canary-of-the-proxy';

/** A proxy that connects whatever is asked for to a port of loopback, and notes what was asked. */
async function startProxy(t: ExecutionContext, credentials: string | null) {
  const asked: string[] = [];
  const open = new Set<Socket>();
  const server = createHttpServer((_request, response) => response.writeHead(405).end());
  server.on('connect', (request, near: Socket, head) => {
    near.on('error', () => {}); // whoever was refused, or cut, may hang up as it likes
    asked.push(request.url ?? '');
    const shown = request.headers['proxy-authorization'] ?? null;
    const wanted = credentials === null ? null : `Basic ${Buffer.from(credentials).toString('base64')}`;
    if (shown !== wanted) return void near.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const far = connect(Number(request.url?.split(':')[1]), '127.0.0.1', () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n');
      far.write(head);
      near.pipe(far).pipe(near);
    });
    far.on('error', () => {});
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('close', () => {
        near.destroy();
        far.destroy();
        open.delete(socket);
      });
    }
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  t.teardown(() => {
    cut();
    server.closeAllConnections();
    server.close();
  });
  return { url: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked, cut };
}

const run = promisify(execFile);

test('enrolment, session, tunnels and the doctor go through the proxy of HTTP_PROXY, again after it was cut', async (t) => {
  const proxy = await startProxy(t, CREDENTIALS);
  const fleet = await startFleet(t);
  const port = new URL(fleet.admins[0]?.url ?? '').port;
  const env = { ADMIN_URLS: `http://${HOST}:${port}`, HTTP_PROXY: `http://${CREDENTIALS}@${proxy.url}` };
  const agent = await fleet.addAgent(env);

  await agent.live();
  await fleet.reaches(agent, 'healthy');
  const report = await fleet.rest.get<NodeDiagnosisResource>(`/nodes/${agent.node}/diagnostics`);
  const [execution] = await fleet.settled(await fleet.run('echo "$HTTP_PROXY" through'));
  const before = agent.program.output.length;
  proxy.cut();
  await agent.program.logged('Connected', before);

  t.true(report.is_live);
  t.deepEqual(
    report.checks.filter(
      ({ name, status }) => ['dns', 'admins', 'clock', 'session'].includes(name) && status === 'fail',
    ),
    [],
  );
  t.like(execution, { status: 'completed', output: ' through\n' });
  t.deepEqual([...new Set(proxy.asked)], [`${HOST}:${port}`]);
  t.true(proxy.asked.length >= 5, `${proxy.asked.length}: enrolment, session, tunnel, doctor, session`);
  t.regex(agent.program.output, new RegExp(`Admins are reached through the proxy http://${proxy.url}"`, 'u'));
  t.false(agent.program.output.includes('canary'));
});

test('a proxy that refuses is named in the log and by the doctor; NO_PROXY goes past it', async (t) => {
  const proxy = await startProxy(t, CREDENTIALS);
  const fleet = await startFleet(t);
  const port = new URL(fleet.admins[0]?.url ?? '').port;
  const agent = await fleet.addAgent({
    ADMIN_URLS: `http://${HOST}:${port}`,
    HTTP_PROXY: `http://wrong:no@${proxy.url}`,
  });

  const line = await agent.program.logged('Enrolment did not succeed; it is tried again');

  t.is(
    line['problem'],
    `the proxy http://${proxy.url} wants other credentials (407): write them as http://USER:PASSWORD@HOST:PORT`,
  );
  const { stdout } = await run(process.execPath, [programFile('edge-agent'), 'doctor'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      AGENT_DATA_DIR: agent.dataDirectory,
      ADMIN_URLS: `http://${HOST}:${port}`,
      http_proxy: `http://wrong:no@${proxy.url}`,
    },
  }).catch((error: unknown) => error as { readonly stdout: string });
  t.regex(stdout, /admins .*the proxy http:\/\/127\.0\.0\.1:\d+ wants other credentials/u);
  const direct = await fleet.addAgent({
    ADMIN_URLS: `http://direct.proxied.test:${port}`,
    HTTP_PROXY: `http://${proxy.url}`,
    NO_PROXY: 'proxied.test',
  });
  const said = await direct.program.logged('Enrolment did not succeed; it is tried again');
  t.is(said['problem'], 'its name cannot be resolved');
});

test('the proxy of HTTPS_PROXY sees the name of the admin and nothing else', async (t) => {
  const made = await certificates(temporaryDirectory(t), `DNS:${HOST}`);
  const proxy = await startProxy(t, null);
  const fleet = await startFleet(t);
  const adminPort = Number(new URL(fleet.admins[0]?.url ?? '').port);
  const open = new Set<Socket>();
  const front = createTlsServer({ cert: readFileSync(made.server), key: readFileSync(made.serverKey) }, (near) => {
    const far = connect(adminPort, '127.0.0.1');
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      open.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          near.destroy();
          far.destroy();
        });
    }
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    front.close();
  });
  const url = `https://${HOST}:${(front.address() as AddressInfo).port}`;

  const agent = await fleet.addAgent({
    ADMIN_URLS: url,
    https_proxy: `http://${proxy.url}`,
    NODE_EXTRA_CA_CERTS: made.ca,
  });

  await agent.live();
  const report = await fleet.rest.get<NodeDiagnosisResource>(`/nodes/${agent.node}/diagnostics`);
  t.true(report.is_live);
  t.deepEqual([...new Set(proxy.asked)], [new URL(url).host]);
});
