/** What the updater says came of an update. */
import test, { type ExecutionContext } from 'ava';
import { UPDATER_TOKEN, UpdaterDouble } from '../../../support/agent/updater-double.ts';
import { accepted, agentOf, request } from '../../../support/agent/updates-fixture.ts';
import { until } from '../../../support/until.ts';

/** One whose updater says this of the last update. */
async function withOutcome(t: ExecutionContext, outcome: () => { status: number; body?: unknown }) {
  const updater = await UpdaterDouble.start(t, { '/v1/outcome': () => outcome() });
  const place = { url: updater.url, token: UPDATER_TOKEN };
  return { ...agentOf(t, { place, outcomeWaitMsMin: 1, signalUpdate: () => Promise.resolve(null) }), updater };
}

const ROLLED_BACK = {
  outcome: 'rolled_back',
  from: '0.1.0',
  to: '0.2.0',
  error: `it crashes: ${UPDATER_TOKEN}`,
  finished_at: 1,
};

test('what came of an update is asked for until the updater says it, told, and kept until an admin has it', async (t) => {
  let body: unknown = { request: null, ...ROLLED_BACK };
  const { updates, said, updater, directory } = await withOutcome(t, () => ({ status: 200, body }));
  const told = { request: request(1), ...ROLLED_BACK, error: 'it crashes: ***', finished_at: undefined };
  const { finished_at: _, ...outcome } = told;

  updates.asked(request(1));
  await until('some questions', () => updater.of('/v1/outcome').length > 2);
  t.deepEqual(updates.outcomes(), [], 'that was another update');
  body = { request: request(1), ...ROLLED_BACK };
  await until('the outcome', () => said.length === 2);

  t.deepEqual(said, [accepted(1), { type: 'update-outcome', ...outcome }] as never);
  t.is(updates.counters.lastOutcome, 'rolled_back');
  const next = agentOf(t, {}, directory);
  t.deepEqual(next.updates.outcomes(), [outcome] as never);
  next.updates.outcomeStored(request(7));
  next.updates.outcomeStored(request(1));
  t.deepEqual(next.updates.outcomes(), []);
  t.deepEqual(agentOf(t, {}, directory).updates.outcomes(), []);
});

test('what came of a request is what came of those before it too, as the newer took their place', async (t) => {
  let body: unknown = { request: null, ...ROLLED_BACK };
  const { updates, said } = await withOutcome(t, () => ({ status: 200, body }));
  for (const n of [1, 2, 3]) updates.asked(request(n));
  await until('the answers', () => said.length === 3);

  body = { request: request(2), ...ROLLED_BACK };
  await until('the outcomes', () => said.length === 5);

  t.deepEqual(
    updates.outcomes().map((one) => [one.request, one.outcome]),
    [
      [request(1), 'rolled_back'],
      [request(2), 'rolled_back'],
    ],
  );
});

test('an updater that does not know the question is asked once', async (t) => {
  const { updates, updater, said } = await withOutcome(t, () => ({ status: 404 }));

  updates.asked(request(1));
  await until('the question', () => updater.of('/v1/outcome').length === 1);
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });

  t.is(updater.of('/v1/outcome').length, 1);
  t.deepEqual(said, [accepted(1)]);
});

test('an agent that is started anew asks what came of the update that ended it', async (t) => {
  const before = agentOf(t);
  before.updates.asked(request(1));
  before.updates.close();
  const updater = await UpdaterDouble.start(t, {
    '/v1/outcome': () => ({
      status: 200,
      body: { request: request(1), outcome: 'updated', from: '0.1.0', to: '0.2.0', error: null },
    }),
  });

  const place = { url: updater.url, token: UPDATER_TOKEN };
  const { updates, said } = agentOf(t, { place, version: '0.2.0' }, before.directory);
  updates.begin();

  await until('the outcome', () => said.length === 1);
  t.like(said[0], { type: 'update-outcome', request: request(1), outcome: 'updated', to: '0.2.0' });
  t.is(updater.asks[0]?.query, `?request=${request(1)}`);
});

test('garbage of an updater is no outcome', async (t) => {
  const bodies = ['', '{', '[1]', { request: 7 }, { ...ROLLED_BACK, outcome: 'exploded' }, { request: request(1) }];
  const { updates, updater } = await withOutcome(t, () => ({ status: 200, body: bodies.shift() ?? 'x' }));

  updates.asked(request(1));
  await until('all of it', () => updater.of('/v1/outcome').length > 6);

  t.deepEqual(updates.outcomes(), []);
});
