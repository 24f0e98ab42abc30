/** Self-update requests through a whole admin: who is triggered, when it stops, and what is told. */
import test from 'ava';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { NEW, OLD } from '../../support/fleet/updating-agent.ts';
import { until } from '../../support/until.ts';
import { agentsOf, completed, eventsOf, requestFor, resultsOf, statusesOf } from './fixture.ts';

const fleet = sharedFleet(test, {});

test('every node is triggered once, and updated when its agent is back with another version', async (t) => {
  const agents = await agentsOf(t, fleet(), ['updates', 'updates', 'updates']);

  const request = await requestFor(fleet(), agents);
  const over = await completed(fleet(), request);
  await until('all are back', async () => (await statusesOf(fleet(), request))['updated'] === 3);

  t.is(request.status, 'pending');
  t.is(request.summary, null);
  t.deepEqual(over.summary, { total: 3, triggered: 3, failed: 0 });
  t.deepEqual(
    agents.map(({ asked }) => asked),
    agents.map(() => [request.id]),
  );
  for (const result of (await resultsOf(fleet(), request)).values()) {
    t.deepEqual([result.from_version, result.to_version, result.error], [OLD, NEW, null]);
    t.true(result.triggered_at !== null && result.finished_at !== null);
  }
  t.deepEqual(await eventsOf(fleet(), [request.id, ...agents.map(({ node }) => node)]), [
    ...agents.map(() => 'edge.node.update_triggered'),
    'edge.self_update_request.completed',
  ]);
});
