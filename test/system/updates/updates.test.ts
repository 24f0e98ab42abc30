/** Self-update requests through a whole admin: who is triggered, when it stops, and what is told. */
import test from 'ava';
import { startEdge } from '../../support/edge-program.ts';
import { openEdge } from '../../support/edge-terminal.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { enrollment, enrollRaw } from '../../support/fleet/raw-agent.ts';
import { NEW, OLD } from '../../support/fleet/updating-agent.ts';
import { until } from '../../support/until.ts';
import type { UpdatingAgent } from '../../support/fleet/updating-agent.ts';
import { agentsOf, completed, eventsOf, requestFor, resultsOf, statusesOf } from './fixture.ts';

const fleet = sharedFleet(test, {});

/** Resolves when the turn of the one node of this request has come. */
function isDue({ id }: { readonly id: string }): Promise<boolean> {
  return until('its turn has come', async () => {
    const [row] = await fleet().sql<{ state: string }>('select state from self_update_node where request_id = $1', [
      id,
    ]);
    return row?.state === 'due';
  });
}

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

test('ten nodes go in batches of three: the next has its turn when one is back and healthy', async (t) => {
  const agents = await agentsOf(
    t,
    fleet(),
    Array.from({ length: 10 }, () => 'takes' as const),
  );
  const asked = (): readonly UpdatingAgent[] => agents.filter((agent) => agent.asked.length > 0);

  const request = await requestFor(fleet(), agents, { batch_size: 3 });
  await until('the first three', () => asked().length === 3);
  for (let done = 0; done < agents.length; done += 1) {
    await until('all of the batch are triggered', async () => {
      const { waiting = 0, triggered = 0 } = await statusesOf(fleet(), request);
      return triggered === Math.min(3, 10 - done) && waiting === Math.max(0, 7 - done);
    });
    t.is(asked().length, Math.min(10, done + 3), 'no more than a batch is under way');
    const agent = asked().find(({ version }) => version === OLD);
    if (agent === undefined) throw new Error('nobody was asked');
    agent.version = NEW;
    await agent.connect();
  }

  t.deepEqual((await completed(fleet(), request)).summary, { total: 10, triggered: 10, failed: 0 });
  t.true(agents.every((agent) => agent.asked.length === 1));
});

test('it stops at max_failures: who refuses counts, and who has not had its turn is skipped', async (t) => {
  const agents = await agentsOf(t, fleet(), ['refuses', 'refuses', 'refuses', 'refuses', 'refuses', 'refuses']);

  const request = await requestFor(fleet(), agents, { batch_size: 1, max_failures: 2 });
  const { summary } = await completed(fleet(), request);

  t.deepEqual(summary, { total: 6, triggered: 0, failed: 2 });
  t.deepEqual(await statusesOf(fleet(), request), { failed: 2, skipped: 4 });
  const errors = [...(await resultsOf(fleet(), request)).values()].map(({ error }) => error);
  t.deepEqual([...new Set(errors)].map(String).toSorted(), [
    'the updater answered 401',
    'too many nodes failed before its turn',
  ]);
  t.is(agents.filter(({ asked }) => asked.length > 0).length, 2);
});

test('with batches a node that is not healthy in time has failed, one that is healthy all the while passes', async (t) => {
  const agents = await agentsOf(t, fleet(), ['takes', 'takes']);
  const [well, ill] = agents as [UpdatingAgent, UpdatingAgent];

  const request = await requestFor(fleet(), agents, { batch_size: 2, health_timeout: 3_600 });
  await until('both are triggered', () => agents.every(({ asked }) => asked.length === 1));
  ill.isHealthy = false;
  ill.version = NEW;
  await ill.connect();
  await until('what is known of both', async () => {
    const { triggered, updated } = await statusesOf(fleet(), request);
    const [row] = await fleet().sql<{ status: string }>('select status from node where id = $1', [ill.node]);
    return triggered === 1 && updated === 1 && row?.status === 'unhealthy';
  });
  // by the clock of the database
  await fleet().sql(
    `update self_update_node set triggered_at = triggered_at - interval '3601 s' where request_id = $1`,
    [request.id],
  );
  const { summary } = await completed(fleet(), request);

  t.deepEqual(summary, { total: 2, triggered: 1, failed: 1 });
  const results = await resultsOf(fleet(), request);
  t.like(results.get(well.node), { status: 'triggered', error: null, to_version: null });
  t.like(results.get(ill.node), {
    status: 'failed',
    to_version: NEW,
    error: 'not healthy 3600 s after the update: unhealthy',
  });
});

test('no answer within 60 s of the turn, by the clock of the database, has failed; a late one changes nothing', async (t) => {
  const agents = await agentsOf(t, fleet(), ['silent']);
  const [silent] = agents as [UpdatingAgent];
  const request = await requestFor(fleet(), agents);
  await until('it is asked', () => silent.asked.length === 1);

  await fleet().sql(`update self_update_node set due_at = due_at - interval '61 s' where request_id = $1`, [
    request.id,
  ]);
  const { summary } = await completed(fleet(), request);
  silent.answer(request.id);
  await silent.connect(); // behind its answer

  t.deepEqual(summary, { total: 1, triggered: 0, failed: 1 });
  t.like((await resultsOf(fleet(), request)).get(silent.node), {
    status: 'failed',
    error: 'no answer within 60 s of its turn',
  });
  t.deepEqual(await eventsOf(fleet(), [silent.node]), []);
});

test('a node that is on its way between sessions at its turn is asked when it comes', async (t) => {
  const agents = await agentsOf(t, fleet(), ['updates']);
  const [agent] = agents as [UpdatingAgent];
  agent.cut();

  const request = await requestFor(fleet(), agents);
  await isDue(request);
  await agent.connect();

  t.deepEqual((await completed(fleet(), request)).summary, { total: 1, triggered: 1, failed: 0 });
  await until('it is back', async () => (await statusesOf(fleet(), request))['updated'] === 1);
});

test('a node that is back with another version for one request is not updated for one that it is asked for then', async (t) => {
  const agents = await agentsOf(t, fleet(), ['takes']);
  const [agent] = agents as [UpdatingAgent];
  const first = await requestFor(fleet(), agents);
  await completed(fleet(), first);
  agent.cut();
  const second = await requestFor(fleet(), agents);
  await isDue(second);

  agent.version = NEW;
  await agent.connect();
  await completed(fleet(), second);

  const resultOf = async (request: { readonly id: string }) => (await resultsOf(fleet(), request)).get(agent.node);
  t.like(await resultOf(first), { status: 'updated', from_version: OLD, to_version: NEW });
  t.like(await resultOf(second), { status: 'triggered', from_version: NEW, to_version: null });
});

test('a node that is deleted before its turn is skipped, and the request ends without it', async (t) => {
  const agents = await agentsOf(t, fleet(), ['takes', 'takes', 'takes']);
  const request = await requestFor(fleet(), agents, { batch_size: 1 });
  await until('one is triggered', async () => (await statusesOf(fleet(), request))['triggered'] === 1);

  const results = await resultsOf(fleet(), request);
  const isTriggered = ({ node }: UpdatingAgent) => results.get(node)?.status === 'triggered';
  // the one whose turn it is goes last: in its place another one would have its turn
  for (const { node } of agents.toSorted((one, other) => Number(isTriggered(one)) - Number(isTriggered(other))))
    await settledAnswer(() => fleet().rest.call('DELETE', `/nodes/${node}`));
  const { summary } = await completed(fleet(), request);

  t.deepEqual(summary, { total: 3, triggered: 1, failed: 0 });
  t.deepEqual(await statusesOf(fleet(), request), { triggered: 1, skipped: 2 });
});

test('a request is deleted when it is completed and not before, with its results', async (t) => {
  const agents = await agentsOf(t, fleet(), ['silent']);
  const request = await requestFor(fleet(), agents);
  const path = `/self_update_requests/${request.id}`;

  const early = await settledAnswer(() => fleet().rest.call('DELETE', path));
  t.deepEqual([early.status, early.error?.code], [409, 'conflict']);
  await until('it is asked', () => agents[0]?.asked.length === 1);
  agents[0]?.answer(request.id);
  await completed(fleet(), request);
  t.is((await settledAnswer(() => fleet().rest.call('DELETE', path))).status, 204);

  t.is((await settledAnswer(() => fleet().rest.call('GET', path))).status, 404);
  t.is((await settledAnswer(() => fleet().rest.call('GET', `${path}/nodes`))).status, 404);
  t.is((await settledAnswer(() => fleet().rest.call('DELETE', path))).status, 404);
  t.deepEqual(await fleet().sql('select from self_update_node where request_id = $1', [request.id]), []);
});

test('edge follows a request in one line of a terminal, and leaves it at Ctrl-C; how it ended is its exit status', async (t) => {
  const agents = await agentsOf(t, fleet(), ['silent', 'silent']);
  const env = { EDGE_URL: fleet().admin().url, EDGE_API_KEY: FLEET_KEYS.API_KEY };
  const nodes = agents.map(({ node }) => node).join(',');
  const asked = () =>
    until('one is asked', () => agents.find(({ asked, version }) => asked.length > 0 && version === OLD));

  const creating = openEdge(t, ['update', 'create', '-n', nodes, '--batch', '1', '--wait'], env);
  const first = await asked();
  const [request = ''] = first.asked;
  await creating.shows(/\r␛\[2K0\/2 triggered, 2 waiting, \d+ s/u);
  const watching = openEdge(t, ['update', 'watch', request.slice(0, 18)], env);
  await watching.shows(/0\/2 triggered, 2 waiting, \d+ s$/u);
  watching.type('\u0003');
  t.is(await watching.ended, 130);
  t.regex(watching.shown(), /\r␛\[2Kedge: it goes on: edge update watch [\da-f-]{36} follows it again\r\n$/u);

  first.answer(request);
  await creating.shows(/\r␛\[2K1\/2 triggered, 1 waiting, \d+ s/u);
  first.version = NEW;
  await first.connect();
  const second = await asked();
  await creating.shows(/\r␛\[2K1\/2 triggered, 1 updated, 1 waiting, \d+ s/u);
  second.answer(request, 'the updater answered 401');

  t.is(await creating.ended, 6);
  const shown = creating.shown();
  t.regex(shown, /\r␛\[2Kedge: 1 of 2 triggered, 1 updated, 1 failed, \d+ s\r\n$/u);
  t.is(shown.split('\n').length, 2, 'all of it in one line');
});

test('only healthy nodes that take part are meant; without one the request is completed at once with zeros', async (t) => {
  const request = await fleet().rest.post<{ status: string; summary: object }>('/self_update_requests', {
    targeting: { type: 'all', node_filters: { status: 'unreachable' } },
  });

  t.like(request, { status: 'completed', summary: { total: 0, triggered: 0, failed: 0 } });

  const env = { EDGE_URL: fleet().admin().url, EDGE_API_KEY: FLEET_KEYS.API_KEY };
  const { node_id: away } = await enrollRaw(t, fleet());
  t.is(
    (await startEdge(['update', 'create', '-n', away], env).ended).stderr,
    'edge: no node takes part: only healthy ones do whose agents have AGENT_SELF_UPDATE_ENABLED=true\n',
  );
});

test('what is given wrongly gets one line that names it', async (t) => {
  const targeting = { type: 'all' };
  const refused = async (body: object) =>
    (await fleet().rest.call('POST', '/self_update_requests', { body })).error?.details;

  t.deepEqual(await refused({ targeting, batch_size: 0 }), { batch_size: ['must be at least 1'] });
  t.deepEqual(await refused({ targeting, max_failures: 0 }), { max_failures: ['must be at least 1'] });
  t.deepEqual(await refused({ targeting, health_timeout: 86_401 }), { health_timeout: ['must be at most 86400'] });
  t.deepEqual(await refused({ targeting: { type: 'nodes' } }), {
    'targeting.node_ids': ['is required when type is nodes'],
  });
  t.deepEqual(await refused({ targeting: { type: 'group', group: 'nosuch' } }), {
    'targeting.group': ['there is no group nosuch'],
  });
});

test('one machine that is enrolled anew under its id is another agent: it is not triggered for what was asked before', async (t) => {
  const agents = await agentsOf(t, fleet(), ['silent', 'takes']);
  const [first, second] = agents as [UpdatingAgent, UpdatingAgent];
  const inTurn = [first, second].toSorted((one, other) => (one.node < other.node ? -1 : 1));
  const waiting = inTurn[1] as UpdatingAgent;
  const request = await requestFor(fleet(), agents, { batch_size: 1 });
  await until('one is asked', () => agents.some(({ asked }) => asked.length > 0));

  const { recovery_key: recoveryKey } = await fleet().rest.post<{ recovery_key: string }>(
    `/nodes/${waiting.node}/recovery_key`,
  );
  const { key } = await fleet().key();
  const answer = await fleet().rest.call('POST', '/agents/enroll', {
    body: { ...enrollment(key, waiting.node), recovery_key: recoveryKey },
  });

  t.is(answer.status, 201);
  t.like((await resultsOf(fleet(), request)).get(waiting.node), {
    status: 'skipped',
    error: 'the node was enrolled anew',
  });
  t.deepEqual(waiting.asked, []);
});
