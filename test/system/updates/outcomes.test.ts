/**
 * What updaters tell of an update that is none: it was taken back, there was nothing to do, or nothing could be done.
 */
import test from 'ava';
import { NEW, OLD } from '../../support/fleet/updating-agent.ts';
import type { UpdatingAgent } from '../../support/fleet/updating-agent.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { agentsOf, completed, requestFor, resultsOf, statusesOf } from './fixture.ts';

const fleet = sharedFleet(test, {});

test('an update that goes back is told with its reason, and one that had nothing to do is over', async (t) => {
  const agents = await agentsOf(t, fleet(), ['takes', 'takes']);
  const [back, same] = agents as [UpdatingAgent, UpdatingAgent];
  const request = await requestFor(fleet(), agents, { batch_size: 2 });
  await until('both are triggered', async () => (await statusesOf(fleet(), request))['triggered'] === 2);

  const outcome = { type: 'update-outcome', request: request.id, from: OLD } as const;
  back.session.send({ ...outcome, outcome: 'rolled_back', to: NEW, error: 'it did not connect' });
  same.session.send({ ...outcome, outcome: 'unchanged', to: OLD, error: null });
  await back.session.frame('update-outcome-stored');
  const { summary } = await completed(fleet(), request);

  t.deepEqual(summary, { total: 2, triggered: 2, failed: 0 });
  const results = await resultsOf(fleet(), request);
  t.like(results.get(back.node), { status: 'rolled_back', to_version: NEW, error: 'it did not connect' });
  t.like(results.get(same.node), { status: 'triggered', to_version: OLD, error: null });
  t.true(results.get(same.node)?.finished_at !== null);
});

test('an updater that could do nothing has failed its node, which counts for max_failures', async (t) => {
  const agents = await agentsOf(t, fleet(), ['takes', 'takes', 'takes']);
  const request = await requestFor(fleet(), agents, { batch_size: 1, max_failures: 1 });
  const first = await until('one is asked', () => agents.find(({ asked }) => asked.length > 0));
  await until('it is triggered', async () => (await statusesOf(fleet(), request))['triggered'] === 1);

  const error = 'https://edge.example.com did not answer within 15 s';
  first.session.send({ type: 'update-outcome', request: request.id, from: OLD, outcome: 'unchanged', to: '', error });
  const { summary } = await completed(fleet(), request);

  t.deepEqual(summary, { total: 3, triggered: 0, failed: 1 });
  t.deepEqual(await statusesOf(fleet(), request), { failed: 1, skipped: 2 });
  t.like((await resultsOf(fleet(), request)).get(first.node), { status: 'failed', from_version: OLD, error });
});

test('without batches what an updater could not do shows at its node, also when the request is completed', async (t) => {
  const agents = await agentsOf(t, fleet(), ['takes']);
  const [agent] = agents as [UpdatingAgent];
  const request = await requestFor(fleet(), agents);
  const { summary } = await completed(fleet(), request);

  agent.session.send({
    type: 'update-outcome',
    request: request.id,
    from: OLD,
    outcome: 'unchanged',
    to: '',
    error: 'no room',
  });
  await agent.session.frame('update-outcome-stored');

  t.deepEqual(summary, { total: 1, triggered: 1, failed: 0 });
  t.like((await resultsOf(fleet(), request)).get(agent.node), { status: 'failed', error: 'no room' });
});
