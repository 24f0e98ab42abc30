/**
 * Admins of releases before go on while a newer one has brought the schema up to date beneath them: migrations expand,
 * and contract a release later.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { CommandResource, ExecutionResource } from '../../../actors/resources/command.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { SelfUpdateRequestResource } from '../../../actors/resources/self-update.ts';
import { openDatabase } from '../../../persistence/connections/database.ts';
import { createDatabase } from '../../support/database/database.ts';
import { CLUSTER, FLEET_KEYS } from '../../support/fleet.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { endScripts, FREE_PORTS } from '../../support/fleet/agent-program.ts';
import { Program } from '../../support/fleet/program.ts';
import { RELEASE_BEFORE, releaseAt, releaseTest } from '../../support/fleet/release.ts';
import { restClient, settledAnswer, type Rest } from '../../support/fleet/rest.ts';
import { silentLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import { urlOf } from '../../support/database/server.ts';

/** What the admin of a release before is asked beyond what all of them can do. */
interface Since {
  readonly commit: string;
  readonly lists: readonly string[];
  readonly uses?: (rest: Rest, node: string) => Promise<void>;
}

/**
 * Commits that stand for releases, since there are none yet: the last one before the VPN, whose admin writes a column
 * that the VPN has no use for, the last one of protocol 4, and the last one before the migrations of 2026-11-29. With
 * the first release its commit takes their place; a migration may contract what no commit here reads.
 */
const RELEASES: Readonly<Record<string, Since>> = {
  'the last one before the VPN': { commit: 'b1f5ac0a16966771679dd2b5d1594e9f489d2a68', lists: [] },
  'the last one of protocol 4': { commit: '4acd99848f3ea7bb6d99afd65cc4ad28d7e4b8dd', lists: [] },
  'the last one before the waves of self-updates': {
    commit: RELEASE_BEFORE,
    lists: [
      '/admins',
      '/admins/admin_clusters',
      '/console_sessions',
      '/groups',
      '/overview',
      '/releases',
      '/webhook_deliveries',
    ],
    uses: updates,
  },
};

/** Has a node updated, which nothing on its machine does, and reads what came of it and what happened to the node. */
async function updates(rest: Rest, node: string): Promise<void> {
  const { id } = await rest.post<SelfUpdateRequestResource>('/self_update_requests', { targeting: { type: 'all' } });
  await until(
    'the end of the update',
    async () => (await rest.get<SelfUpdateRequestResource>(`/self_update_requests/${id}`)).status === 'completed',
  );
  const results = await rest.get<readonly { readonly status: string }[]>(`/self_update_requests/${id}/nodes`);
  if (results.length !== 1) throw new Error(`of one node: ${JSON.stringify(results)}`);
  const events = await rest.get<readonly { readonly type: string }[]>(`/nodes/${node}/events`);
  if (events.length === 0) throw new Error('the node has no events');
}

for (const [name, { commit, lists, uses }] of Object.entries(RELEASES)) {
  releaseTest(commit)(
    `an admin of an earlier release (${name}) goes on working after a newer one has migrated the database`,
    async (t) => {
      const release = await releaseAt(t, commit);
      const { directory, program } = release;
      const connection = await createDatabase(t, { schema: 'empty' });
      const [port, url] = await freePort().then((free) => [String(free), `http://127.0.0.1:${free}`] as const);
      const admin = Program.start(t, program('edge-admin.ts'), ['serve'], {
        ...FLEET_KEYS,
        DATABASE_URL: urlOf(connection),
        ENCRYPTION_KEY: randomBytes(32).toString('base64'),
        ADMIN_API_HOST: '127.0.0.1',
        ADMIN_API_PORT: port,
        ADMIN_PROXY_ENABLED: 'false',
        ADMIN_OBSERVER_ENABLED: 'false',
        ADMIN_OBSERVER_PORT: '0',
        ADMIN_GATEWAY_ENABLED: 'false',
        ADMIN_URLS: url,
        WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
      });
      await admin.logged('edge-admin is ready');
      const rest = restClient(() => url, FLEET_KEYS.MASTER_KEY);
      await rest.post('/clusters', { name: CLUSTER });
      await rest.post('/webhooks', {
        url: `http://127.0.0.1:${await freePort()}/`,
        secret: 'a-secret-with-more-than-32-characters',
        subscribed_events: ['edge.command_execution.completed'],
      });

      const newer = await openDatabase({ connection, poolMax: 2, log: silentLog });
      t.teardown(() => newer.close());
      await newer.migrate();
      const { key } = await rest.post<EnrollmentKeyResource>(`/clusters/${CLUSTER}/enrollment_keys`, {});
      const agent = Program.start(t, program('edge-agent.ts'), ['up'], {
        ...FREE_PORTS,
        AGENT_DATA_DIR: join(directory, 'agent'),
        AGENT_SELF_UPDATE_ENABLED: 'true',
        ADMIN_URLS: url,
        ENROLLMENT_KEY: key,
      });
      await agent.logged('Connected');
      const [node] = await until('the node', async () => {
        const nodes = await rest.get<readonly NodeResource[]>('/nodes?status__in=healthy');
        return nodes.length > 0 && nodes;
      });
      t.teardown(() => endScripts(node?.id ?? ''));
      const command = await rest.post<CommandResource>('/commands', {
        command_text: 'echo done',
        targeting: { type: 'all' },
      });
      const [execution] = await until('the end of the command', async () => {
        const executions = await rest.get<readonly ExecutionResource[]>(
          `/command_executions?command_id__in=${command.id}`,
        );
        return executions.every(({ status }) => status === 'completed') && executions;
      });
      t.like(execution, { status: 'completed', exit_code: 0, output: 'done\n' });

      for (const path of [
        '/clusters',
        `/clusters/${CLUSTER}`,
        '/enrollment_keys',
        `/nodes/${node?.id}`,
        '/aliases',
        '/commands',
        '/command_executions',
        '/ssh_usernames',
        '/ssh_public_keys',
        '/webhooks',
        '/admins/me',
        ...lists,
      ]) {
        t.is((await settledAnswer(() => rest.call('GET', path))).status, 200, path);
      }
      await uses?.(rest, node?.id ?? '');
      await rest.post(`/nodes/${node?.id}/aliases`, { name: 'old' });
      await rest.post(`/nodes/${node?.id}/ssh_usernames`, { username: 'operator', password: 'a-long-password-1' });
      await until(
        'a try of the webhook',
        async () => (await newer.pool.query('select from webhook_attempt')).rows.length > 0,
      );
      t.is((await settledAnswer(() => rest.call('DELETE', `/nodes/${node?.id}`))).status, 204);
      await until('health', async () => (await fetch(`${url}/healthz`)).status === 200);
      t.deepEqual(
        admin.lines().filter(({ level }) => level === 'error'),
        [],
      );
    },
  );
}
