/** In which wave of a self-update request a node is, and what the next wave waits for. */
import test from 'ava';
import type { SelfUpdateRequestResource, SelfUpdateWave } from '../../../actors/resources/self-update.ts';
import { WAVES_SHOWN_MAX } from '../../../actors/resources/self-update.ts';
import { NEW, type UpdatingAgent } from '../../support/fleet/updating-agent.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { agentsOf, completed, requestFor, resultsOf } from './fixture.ts';

const fleet = sharedFleet(test, {});

type Request = Required<Pick<SelfUpdateRequestResource, 'wave_count' | 'waves' | 'next'>>;

const waves = ({ id }: { readonly id: string }): Promise<Request> =>
  fleet().rest.get<Request>(`/self_update_requests/${id}`);

/** A wave of nodes that are this far; nothing of it but what is given. */
const wave = (number: number, more: Partial<SelfUpdateWave>): Omit<SelfUpdateWave, 'began_at'> => ({
  wave: number,
  waiting: 0,
  under_way: 0,
  done: 0,
  failed: 0,
  skipped: 0,
  ...more,
});

const withoutTimes = (request: Request) => request.waves.map(({ began_at: _at, ...rest }) => rest);

/** What is known of its waves, once they are these. */
async function waited(
  request: { readonly id: string },
  wanted: readonly Omit<SelfUpdateWave, 'began_at'>[],
): Promise<Request> {
  let last = '';
  try {
    return await until('its waves', async () => {
      const now = await waves(request);
      last = JSON.stringify(withoutTimes(now));
      return last === JSON.stringify(wanted) && now;
    });
  } catch (error) {
    throw new Error(`they are ${last}`, { cause: error });
  }
}

test('five nodes in batches of two are three waves, told with what each waits for', async (t) => {
  const agents = await agentsOf(t, fleet(), ['takes', 'takes', 'takes', 'takes', 'takes']);
  const inTurn = agents.toSorted((one, other) => (one.node < other.node ? -1 : 1));
  const back = async ([agent]: readonly UpdatingAgent[]): Promise<void> => {
    agent!.version = NEW;
    await agent!.connect();
  };

  const request = await requestFor(fleet(), agents, { batch_size: 2, health_timeout: 3_600 });
  const first = await waited(request, [wave(1, { under_way: 2 }), wave(2, { waiting: 2 }), wave(3, { waiting: 1 })]);
  await until('both say that they took it', () => inTurn.slice(0, 2).every(({ asked }) => asked.length === 1));
  await back(inTurn.slice(0, 1));
  const second = await waited(request, [
    wave(1, { under_way: 1, done: 1 }),
    wave(2, { waiting: 1, under_way: 1 }),
    wave(3, { waiting: 1 }),
  ]);
  await back(inTurn.slice(1, 2));
  await waited(request, [wave(1, { done: 2 }), wave(2, { under_way: 2 }), wave(3, { waiting: 1 })]);
  await until('both say that they took it', () => inTurn.slice(2, 4).every(({ asked }) => asked.length === 1));
  await fleet().sql(
    `update self_update_node set triggered_at = triggered_at - interval '2 hours' where request_id = $1 and triggered_at is not null`,
    [request.id],
  );

  const results = await resultsOf(fleet(), request);
  t.deepEqual(
    inTurn.map(({ node }) => results.get(node)?.wave),
    [1, 1, 2, 2, 3],
  );
  t.is(first.wave_count, 3);
  t.deepEqual(
    first.waves.map(({ began_at: at }) => at !== null),
    [true, false, false],
  );
  t.like(first.next, { wave: 2, waiting: 2, under_way: 2 });
  t.true(Date.parse(first.next?.judged_by ?? '') > Date.now() - 60_000);
  t.like(second.next, { wave: 2, waiting: 1, under_way: 2 });
  await until('the last one has its turn', () => inTurn[4]!.asked.length === 1);
  await back(inTurn.slice(4));
  await completed(fleet(), request);
  const over = await waves(request);
  t.is(over.next, null);
  t.true(over.waves.every(({ waiting, under_way: underWay }) => waiting + underWay === 0));
});

test('results are those of one wave where that is asked for, and in their order', async (t) => {
  const agents = await agentsOf(t, fleet(), ['refuses', 'refuses', 'refuses']);
  const request = await requestFor(fleet(), agents, { batch_size: 1, max_failures: 2 });
  await completed(fleet(), request);

  const path = `/self_update_requests/${request.id}/nodes`;
  const second = await fleet().rest.get<readonly { readonly status: string }[]>(`${path}?wave=2`);
  const all = await fleet().rest.get<readonly { readonly wave: number }[]>(`${path}?sort=-wave`);

  t.deepEqual(
    second.map(({ status }) => status),
    ['failed'],
  );
  t.deepEqual(
    all.map((row) => row.wave),
    [3, 2, 1],
  );
  t.deepEqual(withoutTimes(await waves(request)), [
    wave(1, { failed: 1 }),
    wave(2, { failed: 1 }),
    wave(3, { skipped: 1 }),
  ]);
});

test('all at once is one wave, which waits for nobody', async (t) => {
  const agents = await agentsOf(t, fleet(), ['updates', 'silent']);
  const request = await requestFor(fleet(), agents);

  const told = await waited(request, [wave(1, { under_way: 1, done: 1 })]);

  t.deepEqual([told.wave_count, told.next], [1, null]);
  agents[1]!.answer(request.id);
  await completed(fleet(), request);
});

test('of many waves those around the first that is not over are told', async (t) => {
  const [agent] = await agentsOf(t, fleet(), ['takes']);
  const request = await requestFor(fleet(), [agent!], { batch_size: 1 });
  await until('it is under way', () => agent!.asked.length === 1);
  await fleet().sql(
    `insert into self_update_node (request_id, node_id, cluster_name, wave, state, finished_at)
       select $1::uuid, gen_random_uuid(), 'gone', place, 'skipped', now() from generate_series(2, 300) place`,
    [request.id],
  );
  await fleet().sql(`update self_update_node set wave = 250 where request_id = $1 and state <> 'skipped'`, [
    request.id,
  ]);

  const { wave_count: count, waves: told } = await waves(request);

  t.is(count, 299);
  t.true(told.length <= WAVES_SHOWN_MAX);
  t.deepEqual([told[0]?.wave, told.at(-1)?.wave], [230, 300]);
});

test('a request of a release before knows no waves, and is read all the same', async (t) => {
  const agents = await agentsOf(t, fleet(), ['takes']);
  const request = await requestFor(fleet(), agents);
  await completed(fleet(), request);
  await fleet().sql('update self_update_node set wave = null where request_id = $1', [request.id]);

  t.like(await waves(request), { wave_count: 0, waves: [], next: null });
  t.is([...(await resultsOf(fleet(), request)).values()][0]?.wave, null);
});
