/** An agent and an admin of the version before understand each other: each says what the other knows, and no more. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { CLUSTER, FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { endScripts, FREE_PORTS, prepareAgent } from '../../support/fleet/agent-program.ts';
import { Program } from '../../support/fleet/program.ts';
import { releaseAt, releaseTest } from '../../support/fleet/release.ts';
import { restClient, type Rest } from '../../support/fleet/rest.ts';
import { createDatabase } from '../../support/database/database.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** The last commit of protocol 5, before facts and labels. */
const PROTOCOL_5 = '13caaefcbebd48ca4d216e5b958e1a31b96464c7';

const test = releaseTest(PROTOCOL_5);

test('an agent of before enrols, runs and is labelled; nothing is known of its machine', async (t) => {
  const release = await releaseAt(t, PROTOCOL_5);
  const fleet = await startFleet(t);
  const { key } = await fleet.key({ labels: { env: 'prod' } });
  const agent = Program.start(t, release.program('edge-agent.ts'), ['up'], {
    ...FREE_PORTS,
    AGENT_DATA_DIR: join(release.directory, 'agent'),
    ADMIN_URLS: fleet.admins[0]!.url,
    ENROLLMENT_KEY: key,
  });
  await agent.logged('Connected');
  const node = await healthyNode(fleet.rest);
  t.teardown(() => endScripts(node.id));

  t.deepEqual([node.facts, node.labels, node.name], [null, { env: 'prod' }, node.id.slice(0, 8)]);
  t.is(await outputOf(fleet.rest, { type: 'all', labels: 'env=prod' }), 'done\n');
});

test('an agent of now serves an admin of before, and says nothing that it does not know', async (t) => {
  const release = await releaseAt(t, PROTOCOL_5);
  const connection = await createDatabase(t, { schema: 'empty' });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const admin = Program.start(t, release.program('edge-admin.ts'), ['serve'], {
    ...FLEET_KEYS,
    DATABASE_URL: `postgresql://${connection.user}@localhost/${connection.database}?host=${encodeURIComponent(connection.host)}&port=${connection.port}`,
    ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    ADMIN_API_HOST: '127.0.0.1',
    ADMIN_API_PORT: String(port),
    ADMIN_PROXY_ENABLED: 'false',
    ADMIN_OBSERVER_ENABLED: 'false',
    ADMIN_OBSERVER_PORT: '0',
    ADMIN_GATEWAY_ENABLED: 'false',
    ADMIN_URLS: url,
  });
  await admin.logged('edge-admin is ready');
  const rest = restClient(() => url, FLEET_KEYS.MASTER_KEY);
  await rest.post('/clusters', { name: CLUSTER });
  const { key } = await rest.post<EnrollmentKeyResource>(`/clusters/${CLUSTER}/enrollment_keys`, {});
  const agent = prepareAgent(t, temporaryDirectory(t), {
    ADMIN_URLS: url,
    ENROLLMENT_KEY: key,
    AGENT_LABELS: 'env=prod',
  });
  agent.start();
  await agent.live();

  await healthyNode(rest);
  t.is(await outputOf(rest, { type: 'all' }), 'done\n');
  t.deepEqual(
    admin.lines().filter(({ msg }) => msg === 'a session broke the contract and was cut'),
    [],
  );
});

function healthyNode(rest: Rest): Promise<NodeResource> {
  return until(
    'the node',
    async () => (await rest.get<readonly NodeResource[]>('/nodes?status__in=healthy'))[0] ?? false,
  );
}

/** What a command prints, once it is over. */
async function outputOf(rest: Rest, targeting: object): Promise<string | null> {
  const { id } = await rest.post<{ id: string }>('/commands', { command_text: 'echo done', targeting });
  const execution = await until('the end of the command', async () => {
    const [one] = await rest.get<readonly { status: string; output: string | null }[]>(
      `/command_executions?command_id__in=${id}`,
    );
    return one?.status === 'completed' && one;
  });
  return execution.output;
}
