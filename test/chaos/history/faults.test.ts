/** What counts as a fault of a history: what was done, and not what had nothing to do. */
import test, { type ExecutionContext } from 'ava';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { origin } from '../../support/net/listening.ts';
import type { Fixture } from '../fixture.ts';
import { FAULTS, type FaultName } from './fault-kinds.ts';
import { doFaults, VAIN_MAX } from './faults.ts';
import { Recorder } from './recorder.ts';
import type { Stage } from './stage.ts';

/** An admin of which nothing is done. */
const adminAt = (url: string, name = 'admin-1') => ({ name, url, program: { exit: null } }) as unknown as AdminProgram;
const NOBODY = 'http://127.0.0.1:1';

/** A service of one admin that owns no home, has no network of its own, and has no database that runs. */
function fixtureOf(changed: Partial<Fixture> = {}): Fixture {
  const fleet = { admins: [adminAt(NOBODY)], sql: async () => Promise.resolve([]) };
  const postgres = { pid: async () => Promise.resolve(undefined) };
  return { fleet, postgres, networks: null, clocks: null, failOver: null, ...changed } as unknown as Fixture;
}

const hand = { land: { homes: [] } } as unknown as Stage['hand'];

/** Does so many of these, one after another: what was done, and what the history has of it. */
async function faults(fixture: Fixture, kinds: readonly FaultName[], count: number) {
  const recorder = new Recorder();
  const vain: string[] = [];
  const told: number[] = [];
  const done = await doFaults(
    { fixture, recorder, joined: () => {}, handAt: () => hand },
    {
      kinds,
      count,
      seed: 14,
      atOnce: 1,
      calmMs: 0,
      isOver: () => vain.length > 2 * VAIN_MAX,
      told: (number) => told.push(number),
      tellVain: (line) => vain.push(line),
    },
  );
  return { done: Object.fromEntries(done), vain, told, recorded: recorder.faults.map(({ name }) => name) };
}

test('a fault that has nothing to do says so, counts for nothing, excuses nothing, and another one takes its place', async (t) => {
  let failures = 0;
  const failOver = async () => Promise.resolve(void (failures += 1));

  const { done, vain, told, recorded } = await faults(
    fixtureOf({ failOver }),
    ['freeze at work', 'database failover'],
    3,
  );

  t.is(failures, 3);
  t.deepEqual(done, { 'database failover': 3 });
  t.deepEqual(told, [1, 2, 3]);
  t.deepEqual(
    recorded,
    Array.from({ length: 3 }, () => 'database failover'),
  );
  t.true(vain.length >= 2 && vain.length <= 3, `${vain.length}`); // each kind once before any comes again
  t.deepEqual(new Set(vain), new Set(['freeze at work of admin-1: it owns no home']));
});

test('where no fault ever has anything to do, a history ends and says why', async (t) => {
  await t.throwsAsync(faults(fixtureOf(), ['freeze at work'], 1), {
    message: `${VAIN_MAX} faults in a row had nothing to do, the last one: freeze at work of admin-1: it owns no home`,
  });
});

test('each kind that can have nothing to do says why', async (t) => {
  const stage = (changed: Partial<Fixture> = {}): Stage => {
    const fixture = fixtureOf(changed);
    const [admin = adminAt(NOBODY)] = fixture.fleet.admins;
    return { fixture, admin, other: admin, chance: 0, recorder: new Recorder(), hand, joined: () => {} };
  };
  const networks = {} as never;

  t.deepEqual(
    {
      clocks: await FAULTS['clock jump'].act(stage()),
      standstill: await FAULTS['database standstill'].act(stage()),
      failover: await FAULTS['database failover'].act(stage()),
      kill: await FAULTS['database kill'].act(stage()),
      cut: await FAULTS['cut from the database'].act(stage()),
      slow: await FAULTS['slow link'].act(stage()),
      alone: await FAULTS['cut from an admin'].act(stage({ networks })),
    },
    {
      clocks: 'clocks cannot be set',
      standstill: 'the database does not run',
      failover: 'the database has no standby',
      kill: 'the database does not run',
      cut: 'admins have no networks of their own',
      slow: 'admins have no networks of their own',
      alone: 'no other admin runs',
    },
  );
});

/** An admin that answers so to a drain, and takes back every one. */
async function draining(t: ExecutionContext, status: number) {
  const asked: string[] = [];
  const url = await origin(t, (request, response) => {
    asked.push(request.url ?? '');
    const isDrain = request.url?.endsWith('/drain') === true;
    response.writeHead(isDrain ? status : 200, { 'content-type': 'application/json' }).end('{}');
  });
  return { admin: adminAt(url, `admin-${status}`), asked };
}

test('a drain refused by every admin is reported as not taken and resumed; a drain taken by another admin is done', async (t) => {
  const [refusing, busy, taking] = [await draining(t, 409), await draining(t, 503), await draining(t, 200)];
  const drained = async (...admins: readonly AdminProgram[]): Promise<string | null> => {
    const fleet = { ...fixtureOf().fleet, admins };
    const [admin = adminAt(NOBODY)] = admins;
    return FAULTS.drain.act({
      fixture: fixtureOf({ fleet }),
      admin,
      other: admin,
      chance: 0,
      recorder: new Recorder(),
      hand,
      joined: () => {},
    });
  };

  t.is(await drained(refusing.admin, busy.admin), 'no admin took the drain');
  t.is(refusing.asked.at(-1), '/api/v1/admins/admin-409/resume');
  t.is(await drained(refusing.admin, taking.admin), null);
  t.deepEqual(taking.asked, ['/api/v1/admins/admin-409/drain']); // the first one took it back
});
