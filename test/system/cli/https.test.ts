/**
 * `edge` at a service behind TLS, as a proxy in front of an admin has it: calls, live feeds, and what cannot be
 * trusted.
 */
import { connect, createServer } from 'node:net';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { certificates, type Certificates } from '../../support/net/certificates.ts';
import { startEdge } from '../../support/edge-program.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { listening } from '../../support/net/listening.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const fleet = sharedFleet(test, { agents: 1, agentEnv: { AGENT_ALIASES: 'web-1' } });
const adminUrl = () => new URL(fleet().admins[0]?.url ?? '');

/** TLS in front of the admin: where it is, for a client. */
async function front(t: ExecutionContext, { server, serverKey }: Certificates): Promise<string> {
  const options = { cert: readFileSync(server), key: readFileSync(serverKey) };
  const proxy = createTlsServer(options, (socket) => {
    const behind = connect(Number(adminUrl().port), adminUrl().hostname);
    socket.on('error', () => behind.destroy()).on('close', () => behind.destroy());
    behind.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.pipe(behind).pipe(socket);
  });
  return `https://127.0.0.1:${await listening(t, proxy)}`;
}

const edge = (url: string, authority: string | null, ...args: string[]) =>
  startEdge(args, {
    EDGE_URL: url,
    EDGE_API_KEY: FLEET_KEYS.API_KEY,
    ...(authority !== null && { NODE_EXTRA_CA_CERTS: authority }),
  }).ended;

test('calls and live outputs go over TLS, with an authority of the user by NODE_EXTRA_CA_CERTS', async (t) => {
  const made = await certificates(temporaryDirectory(t));
  const url = await front(t, made);

  const listed = await edge(url, made.ca, '-o', 'id', 'node', 'ls');
  const ran = await edge(url, made.ca, 'run', '-n', 'web-1', '--', 'seq 1 3');

  t.deepEqual(listed, { status: 0, stdout: `${fleet().agents[0]?.node ?? ''}\n`, stderr: '' });
  t.deepEqual([ran.status, ran.stdout], [0, 'web-1: 1\nweb-1: 2\nweb-1: 3\n'], ran.stderr);
  // a check that a busy machine made late is red for a moment
  const status = until('an admin that is healthy', async () => {
    const { stdout, stderr } = await edge(`${url}/`, made.ca, 'status');
    if (!/at https:\/\/127\.0\.0\.1:\d+, healthy\n/u.test(stdout)) throw new Error(stdout + stderr);
    return true;
  });
  await t.notThrowsAsync(status);
});

test('a certificate that is not trusted, of another name, and no TLS at all are one line each', async (t) => {
  const [made, other, named] = await Promise.all([
    certificates(temporaryDirectory(t)),
    certificates(temporaryDirectory(t)),
    certificates(temporaryDirectory(t), 'DNS:fleet.example'),
  ]);
  const silent = `https://127.0.0.1:${await listening(t, createServer())}`;
  const refusals = [
    [
      await front(t, made),
      null,
      'its certificate is not trusted here: NODE_EXTRA_CA_CERTS should name the file of its authority',
    ],
    [
      await front(t, made),
      other.ca,
      'its certificate is not trusted here: NODE_EXTRA_CA_CERTS should name the file of its authority',
    ],
    [await front(t, named), named.ca, 'its certificate is of another name: EDGE_URL or --url should have that one'],
    [
      adminUrl().href.replace(/^http:(.*)\/$/u, 'https:$1'),
      made.ca,
      'it does not speak HTTPS: check EDGE_URL or --url, which may have to begin with http://',
    ],
    [silent, made.ca, 'check that edge-admin runs there, or set EDGE_URL or --url'],
  ] as const;

  await Promise.all(
    refusals.map(async ([url, authority, remedy]) => {
      const { status, stdout, stderr } = await edge(url, authority, 'node', 'ls');

      t.deepEqual([status, stdout], [1, ''], url);
      t.is(stderr.replace(/\([A-Z\d_]+\)/u, '(CODE)'), `edge: cannot reach ${url} (CODE): ${remedy}\n`);
    }),
  );
});
