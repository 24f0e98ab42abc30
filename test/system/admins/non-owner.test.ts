/**
 * An admin that does not own the targets: what it knows of their executions is true, a little late, and it keeps
 * nothing of what is over.
 */
import test, { type ExecutionContext } from 'ava';
import type { CommandResource } from '../../../actors/resources/command.ts';
import { startEdge } from '../../support/edge-program.ts';
import { CLUSTER, FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient, settledAnswer, type Rest } from '../../support/fleet/rest.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const scope = createScope();
let fleet: Fleet;
/** The admin that owns nothing. */
let other: AdminProgram;
let rest: Rest;

test.before('two admins and an agent start', async () => {
  fleet = await startFleet(scope, { admins: 2, agents: 1 });
  ({ other } = await ownership(fleet));
  rest = restClient(() => other.url, FLEET_KEYS.MASTER_KEY);
});
test.after.always('they end', () => scope.end());

test.serial('its actors of commands end when what they count has ended at the owner', async (t) => {
  const commands = await Promise.all(Array.from({ length: 20 }, () => create('true')));
  for (const command of commands) await fleet.settled(command);

  await commandsGone(t);
});

test.serial('what is cancelled or deleted at the owner ends its actors too', async (t) => {
  const [cancelled, deleted] = [await create('sleep 60'), await create('true')];
  t.is((await settledAnswer(() => owner().call('POST', `/commands/${cancelled.id}/cancel`))).status, 202);
  await fleet.settled(deleted);
  t.is((await settledAnswer(() => owner().call('DELETE', `/commands/${deleted.id}`))).status, 204);
  await fleet.settled(cancelled);

  await commandsGone(t);
});

test.serial('a cancel there answers with what is true of the executions', async (t) => {
  const command = await create('true');
  await fleet.settled(command);

  const answer = await settledAnswer(() => rest.call('POST', `/commands/${command.id}/cancel`));

  t.is(answer.status, 202);
  t.deepEqual((answer.data as unknown as CommandResource).summary, {
    total: 1,
    pending: 0,
    sent: 0,
    completed: 1,
    succeeded: 1,
    failed: 0,
    cancelled: 0,
    expired: 0,
    dropped: 0,
  });
});

test.serial('what only the owner can do is done there as well, once', async (t) => {
  const node = fleet.agents[0]?.node ?? '';
  const changed = (path: string, body: object) => settledAnswer(() => rest.call('PATCH', path, { body }));
  const limited = await changed(`/clusters/${CLUSTER}`, { node_limit: 9 });
  const labelled = await changed(`/nodes/${node}/labels`, { labels: { asked: 'elsewhere' } });
  const keyed = { headers: { 'idempotency-key': 'asked-at-two-admins' } };
  const created = await settledAnswer(() => rest.call('POST', `/nodes/${node}/recovery_key`, keyed));
  const again = await settledAnswer(() => owner().call('POST', `/nodes/${node}/recovery_key`, keyed));

  t.deepEqual([limited.status, limited.data['node_limit']], [200, 9]);
  t.deepEqual([labelled.status, labelled.data['labels']], [200, { asked: 'elsewhere' }]);
  t.is(created.status, 201, created.text);
  t.deepEqual(again.data, created.data);
});

test.serial('edge run there shows the output and comes back', async (t) => {
  const { status, stdout } = await startEdge(['run', '-c', CLUSTER, '--', 'echo by the other door'], {
    EDGE_URL: other.url,
    EDGE_API_KEY: FLEET_KEYS.API_KEY,
  }).ended;

  t.is(status, 0);
  t.regex(stdout, /by the other door\n$/u);
});

function owner(): Rest {
  return restClient(() => fleet.admins.find((admin) => admin !== other)?.url ?? '', FLEET_KEYS.MASTER_KEY);
}

function create(script: string): Promise<CommandResource> {
  return rest.post<CommandResource>('/commands', { command_text: script, targeting: { type: 'all' } });
}

/** Resolves when no actor of a command lives at the admin that owns nothing. */
async function commandsGone(t: ExecutionContext): Promise<void> {
  await until('the end of all actors of commands', async () => {
    const metrics = await (
      await fetch(`${other.url}/api/v1/admins/me/metrics/raw`, {
        headers: { authorization: `Bearer ${FLEET_KEYS.METRICS_KEY}` },
      })
    ).text();
    const count = /^\S*actors\{kind="command"[^}]*\} (\d+)$/mu.exec(metrics)?.[1];
    if (count === undefined) throw new Error(metrics.slice(0, 2_000));
    return count === '0';
  });
  t.pass();
}
