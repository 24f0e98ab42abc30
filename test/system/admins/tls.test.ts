/**
 * Two real admins that serve HTTPS by themselves, with an authority of their own: agents, `edge`, the link between
 * them, and a certificate that is replaced beneath a live session.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { once } from 'node:events';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { hangAfter } from '../../support/busy.ts';
import { certificates, trust, type Certificates } from '../../support/net/certificates.ts';
import { startEdge } from '../../support/edge-program.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** Above two looks at the files. */
const TAKEN_UP_MS_MAX = 20_000;

async function tlsFleet(t: ExecutionContext, { admins = 1 } = {}) {
  const directory = temporaryDirectory(t);
  const made = await certificates(directory);
  trust(made);
  const shown = { certificate: join(directory, 'shown.crt'), key: join(directory, 'shown.key') };
  const show = ({ server, serverKey }: Certificates): void => {
    for (const [from, to] of [
      [server, shown.certificate],
      [serverKey, shown.key],
    ] as const) {
      copyFileSync(from, `${to}.new`);
      renameSync(`${to}.new`, to);
    }
  };
  show(made);
  const env = { NODE_EXTRA_CA_CERTS: made.ca };
  const fleet = await startFleet(t, {
    admins,
    agents: 1,
    env: {
      ...env,
      ADMIN_TLS_CERT_FILE: shown.certificate,
      ADMIN_TLS_KEY_FILE: shown.key,
      METRICS_SCRAPE_TIMEOUT_MS: '60s', // a node on a crowded machine may take longer than the usual 5 s
    },
    agentEnv: env,
  });
  return { fleet, made, show };
}

/** Null: it is to be asked again. */
function passing(status: number): number | null {
  return status === 503 ? null : status;
}

async function serialAt(url: string): Promise<string> {
  const { port, hostname } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

const edge = (fleet: Fleet, made: Certificates, ...args: string[]) =>
  startEdge(args, {
    EDGE_URL: fleet.admin().url,
    EDGE_API_KEY: FLEET_KEYS.API_KEY,
    NODE_EXTRA_CA_CERTS: made.ca,
  }).ended;

test('agents, calls, live outputs and curl come by HTTPS, and a renewed certificate cuts no session', async (t) => {
  t.timeout(hangAfter(120_000));
  const { fleet, made, show } = await tlsFleet(t);
  const url = fleet.admin().url;
  t.regex(url, /^https:/u);

  const ran = await edge(fleet, made, 'run', '--all', '--', 'seq 1 3');
  const curl = await promisify(execFile)('curl', ['-sS', '--noproxy', '*', '--cacert', made.ca, `${url}/readyz`]);
  t.deepEqual([ran.status, ran.stdout.match(/: \d$/gmu)], [0, [': 1', ': 2', ': 3']], ran.stderr);
  t.true((JSON.parse(curl.stdout) as { healthy: boolean }[]).every(({ healthy }) => healthy));

  const before = await serialAt(url);
  const opened = async (): Promise<string> =>
    /^edge_admin_sessions_opened_total (?<count>\d+)$/mu.exec(
      await (
        await fetch(`${url}/api/v1/admins/me/metrics/raw`, {
          headers: { authorization: `Bearer ${FLEET_KEYS.METRICS_KEY}` },
        })
      ).text(),
    )?.groups?.['count'] ?? 'none';
  const sessions = await opened();
  const long = await fleet.run('sleep 15; echo still there');
  const renewed = await certificates(temporaryDirectory(t));
  trust(renewed);
  show(renewed);
  await until('another certificate', async () => (await serialAt(url)) !== before, TAKEN_UP_MS_MAX);

  const [execution] = await fleet.settled(long);
  t.like(execution, { status: 'completed', exit_code: 0, output: 'still there\n' });
  t.is(await opened(), sessions);
  await fleet.admin().program.logged('another certificate is shown from now on');
});

test('admins reach each other by https where they know the authority, and pass on what is the other one’s', async (t) => {
  t.timeout(hangAfter(120_000));
  const { fleet } = await tlsFleet(t, { admins: 2 });

  for (const place of [0, 1]) {
    const asked = `${fleet.admin(place).url}/api/v1`;
    const headers = { authorization: `Bearer ${FLEET_KEYS.MASTER_KEY}`, 'content-type': 'application/json' };
    const label = async (): Promise<number> => {
      const answer = await fetch(`${asked}/nodes/${fleet.agent().node}/labels`, {
        method: 'PATCH',
        headers,
        body: JSON.stringify({ labels: { asked: `at-${place}` } }),
      });
      return answer.status;
    };
    // By the tunnel of whoever was asked, also where its owner is the other one.
    const scrape = async (): Promise<number> =>
      (await fetch(`${asked}/nodes/${fleet.agent().node}/metrics/host`, { headers })).status;
    // one whose lease ran out on a busy machine says 503 for a moment
    for (const ask of [label, scrape]) t.is(await until('an answer', async () => passing(await ask())), 200);
  }
  for (const { url } of fleet.admins)
    await until('both reached', async () => {
      const checks = (await (await fetch(`${url}/health/cluster`)).json()) as { name: string; healthy: boolean }[];
      return checks.find(({ name }) => name === 'admin_links')?.healthy === true;
    });
});

test('an agent that does not trust the certificate says so in one sentence', async (t) => {
  const { fleet } = await tlsFleet(t);

  const stranger = await fleet.addAgent({ NODE_EXTRA_CA_CERTS: '' });

  const problem =
    /its certificate is not trusted here \([A-Z_]+\): NODE_EXTRA_CA_CERTS should name the file of its authority/u;
  await until('the sentence', () => problem.test(stranger.program.output));
  t.pass();
});
