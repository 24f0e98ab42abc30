/**
 * The container images: made without an engine and run by podman. An admin on a given database, a relay that asks it,
 * an agent that enrols and runs a command, and what a stop leaves.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import type { CommandResource, ExecutionResource } from '../../../actors/resources/command.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { scaled } from '../../support/busy.ts';
import { lowerCasePath, makeImages, Podman } from '../../support/releases/containers.ts';
import { createDatabase } from '../../support/database/database.ts';
import { FREE_PORTS } from '../../support/fleet/agent-program.ts';
import type { Program } from '../../support/fleet/program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { listening } from '../../support/net/listening.ts';
import { buildDistribution } from '../../support/releases/packages.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { peerCache } from '../../support/peers/peer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('root', 'mmdebstrap', 'podman', 'crun');

/** Images are made twice, of packages that are fetched once. */
const TEST_MS_MAX = 1_200_000;

/** A container is unpacked before it starts. */
const READY_MS_MAX = 120_000;

test('images run an admin, a relay and an agent, end in order, and are the same bytes when they are made again', async (t) => {
  t.timeout(scaled(TEST_MS_MAX));
  const directory = temporaryDirectory(t);
  const [layout, again] = [join(directory, 'layout'), join(directory, 'again')];
  const cache = peerCache('images');
  const made = await makeImages(layout, cache, '--dist', await buildDistribution(t));
  const podman = new Podman(t);
  const images = lowerCasePath(t, layout);
  const connection = await createDatabase(t);
  // The server of the tests has a socket only, for its own user and root.
  const toDatabase = createServer((near) => {
    const far = connect(join(connection.host, `.s.PGSQL.${connection.port}`));
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;

  const admin = podman.start({
    name: 'admin',
    image: `oci:${images}:admin`,
    env: {
      ...FLEET_KEYS,
      DATABASE_URL: `postgresql://${connection.user}@127.0.0.1:${await listening(t, toDatabase)}/${connection.database}`,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      ADMIN_API_PORT: String(port),
      ADMIN_HTTP_PROXY_PORT: '0',
      ADMIN_SOCKS5_PROXY_PORT: '0',
      ADMIN_OBSERVER_PORT: '0',
      ADMIN_URLS: url,
    },
    isConfined: true,
  });
  await admin.logged('edge-admin is ready', 0, scaled(READY_MS_MAX));
  for (const path of ['/readyz', '/console']) t.is((await fetch(url + path)).status, 200, path);
  t.regex(await podman.call('exec', 'admin', '/usr/local/bin/node', '-p', 'process.getuid()'), /^65532$/mu);
  await podman.call('exec', 'admin', '/usr/local/bin/node', '/opt/edge/health-check.mjs');

  const relayPort = await freePort();
  const relay = podman.start({
    name: 'relay',
    image: `oci:${images}:relay`,
    env: {
      RELAY_HOSTNAME: '127.0.0.1',
      RELAY_PORT: String(relayPort),
      RELAY_ADMISSION_URL: `${url}/api/v1/relays/admission`,
    },
    isConfined: true,
  });
  await relay.logged('edge-admin relay is ready', 0, scaled(READY_MS_MAX));
  t.regex(relay.output, new RegExp(`"DERPPort":${relayPort}\\b`, 'u'));
  await podman.call('exec', 'relay', '/usr/local/bin/node', '/opt/edge/health-check.mjs');

  const rest = restClient(() => url, FLEET_KEYS.MASTER_KEY);
  await rest.post('/clusters', { name: 'boxes' });
  const { key } = await rest.post<EnrollmentKeyResource>('/clusters/boxes/enrollment_keys', { uses_remaining: 2 });
  const agents: Program[] = [];
  for (const name of ['agent', 'agent-rootless']) {
    // One after the other: podman gives all images of a layout one name.
    agents.push(podman.start({ name, image: `oci:${images}:${name}`, env: { ...FREE_PORTS, ENROLLMENT_KEY: key } }));
    await until(
      `a healthy ${name}`,
      async () => {
        const nodes = await rest.get<readonly NodeResource[]>('/nodes?status__in=healthy');
        if (nodes.length < agents.length) throw new Error(agents.at(-1)?.output.slice(-2_000));
        return true;
      },
      scaled(READY_MS_MAX),
    );
  }
  const script = 'id -u; sleep 0 & readlink /proc/1/exe || true; cat /proc/1/comm';
  const command = await rest.post<CommandResource>('/commands', { command_text: script, targeting: { type: 'all' } });
  const executions = await until('both done', async () => {
    const all = await rest.get<readonly ExecutionResource[]>(`/command_executions?command_id__in=${command.id}`);
    return all.every(({ status }) => status === 'completed') ? all : null;
  });
  t.deepEqual(executions.map(({ output, exit_code: code }) => `${output?.split('\n')[0]} ${code}`).toSorted(), [
    '0 0',
    '65532 0',
  ]);
  t.true(executions.every(({ output }) => output?.includes('tini') === true));
  await podman.call('exec', 'agent', '/usr/local/bin/node', '/opt/edge/health-check.mjs');

  for (const program of [...agents, relay, admin]) {
    program.terminate();
    await program.ended();
    t.deepEqual(program.exit, { code: 0, signal: null }, program.output.slice(-1_000));
  }
  t.true(made.startsWith(await makeImages(again, cache, '--only', 'admin')));
  const blobs = readdirSync(join(layout, 'blobs/sha256'));
  t.deepEqual(
    readdirSync(join(again, 'blobs/sha256')).filter((name) => !blobs.includes(name)),
    [],
  );
});
