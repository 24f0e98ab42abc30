/**
 * An admin that is killed while it decides about an SSH login: the agent asks again, and no yes was told that is not
 * stored.
 */
import test, { type ExecutionContext } from 'ava';
import { holdCommit, holdTable, prepareHolds, type CommitHold } from '../../chaos/commit-hold.ts';
import type { SshUsernameResource } from '../../../actors/resources/ssh.ts';
import { PROTOCOL_VERSION } from '../../../transport/protocol/version.ts';
import { createDatabase } from '../../support/database/database.ts';
import { startFleet } from '../../support/fleet.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import type { TestConnection } from '../../support/database/server.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';
import { until } from '../../support/until.ts';

/**
 * Kills the admin where `hold` holds it, and answers the results of all events, and whether the agent was told before
 * and after.
 */
async function killed(t: ExecutionContext, hold: (connection: TestConnection) => Promise<CommitHold>) {
  const connection = await createDatabase(t);
  await prepareHolds(connection);
  const fleet = await startFleet(t, { connection });
  const agent = await enrollRaw(t, fleet);
  const key = newKey();
  await fleet.rest.post<SshUsernameResource>(`/nodes/${agent.node_id}/ssh_usernames`, {
    username: 'ada',
    public_keys: [{ key_name: 'k', public_key: key.line }],
  });
  const shown = {
    type: 'verify-ssh',
    attempt: 1,
    username: 'ada',
    credential: { method: 'public_key', blob: key.blob, signature: 'verified' },
  } as const;
  const before = await agent.connect({ protocol: PROTOCOL_VERSION });
  // an event of its hello would be caught in place of the login's
  await until('its hello to be stored', async () => {
    const [{ count } = { count: 0 }] = await fleet.sql<{ count: number }>(
      `select count(*)::int as count from node where status = 'healthy'`,
    );
    return count > 0;
  });
  const held = await hold(connection);

  before.send(shown);
  await held.caught;
  await fleet.admin().kill();
  await held.release();
  await before.closed;
  await fleet.admin().start();
  const after = await agent.connect({ protocol: PROTOCOL_VERSION });
  after.send(shown);
  const { verdict } = await after.frame('ssh-verdict');

  const events = await fleet.sql<{ result: string }>(
    `select data->>'result' as result from event where type = 'edge.ssh_username.verified' order by txid, seq`,
  );
  return {
    toldBefore: before.frames.some(({ type }) => type === 'ssh-verdict'),
    accepted: verdict.accepted,
    events: events.map(({ result }) => result),
  };
}

test('an admin killed before it stores a login event sends no verdict, and the next login succeeds with one event', async (t) => {
  t.deepEqual(await killed(t, (connection) => holdTable(connection, 'event')), {
    toldBefore: false,
    accepted: true,
    events: ['success'],
  });
});

test('an admin killed between event and verdict leaves the event of a failed login, and the next login succeeds', async (t) => {
  t.deepEqual(await killed(t, (connection) => holdCommit(connection, 'ssh-verified')), {
    toldBefore: false,
    accepted: true,
    events: ['success', 'success'],
  });
});
