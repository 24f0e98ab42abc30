/** How an operation gets to the owner of what it is about, whoever that is meanwhile. */
import test from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { ok, refuse, STALE_EPOCH } from '../../../../actors/refusal.ts';
import { FORWARD_MS_MAX } from '../../../../api/forwarding/deadline.ts';
import { IN_DOUBT } from '../../../../api/forwarding/forwarded-call.ts';
import { NodeId } from '../../../../transport/protocol/ids.ts';
import { SOME_ID } from '../../../support/api/fakes.ts';
import {
  answers,
  elsewhere,
  inTurn,
  says,
  ScriptedOwners,
  UNSENT,
  type Scripted,
} from '../../../support/api/scripted-owners.ts';

const NOT_FOUND = refuse('not_found', 'Resource not found');
const NOT_OWNER = { ok: false, refusal: STALE_EPOCH } as const;

test('what another admin owns is done there, with one look and one call', async (t) => {
  const owners = new ScriptedOwners();
  owners.scripts = { b: answers('done') };

  t.deepEqual(await owners.ask(), { result: ok('done'), ms: 0 });

  t.is(owners.looks, 1);
  t.deepEqual(owners.handled, []);
  t.deepEqual(owners.received, [
    {
      admin: 'b',
      call: {
        call_id: SOME_ID,
        operation: 'some_operation',
        input: { id: SOME_ID },
        target: { kind: 'node', id: NodeId.parse(SOME_ID) },
        epoch: 7,
        principal: 'api',
        surface: 'rest',
        request_id: 'request-1',
        traceparent: null,
        idempotency: null,
        remaining_ms: FORWARD_MS_MAX,
        attempt: 1,
      },
    },
  ]);
});

test('a refusal of the owner is the answer', async (t) => {
  const owners = new ScriptedOwners();
  owners.scripts = { b: says({ type: 'answered', result: NOT_FOUND }) };

  t.deepEqual((await owners.ask('missing')).result, NOT_FOUND);
});

test('what is owned here is done here', async (t) => {
  const owners = new ScriptedOwners();
  owners.owner = { type: 'here', epoch: 7 };

  t.deepEqual((await owners.ask()).result, ok('done here'));
  t.deepEqual(owners.received, []);
});

test('an admin alone looks for no owner, nor does an operation of nobody', async (t) => {
  const alone = new ScriptedOwners();
  alone.hasPeers = false;
  const anywhere = new ScriptedOwners();

  t.deepEqual((await alone.ask()).result, ok('done here'));
  t.deepEqual((await anywhere.ask(null, { ownedBy: null })).result, ok('done here'));
  t.deepEqual((await anywhere.ask(null, { ownedBy: () => null })).result, ok('done here'));
  t.deepEqual([alone.looks, anywhere.looks], [0, 0]);
});

test('an admin alone that does not own it yet waits until it does', async (t) => {
  const owners = new ScriptedOwners();
  owners.hasPeers = false;
  owners.owner = { type: 'nobody' };
  owners.here = async () => Promise.resolve(owners.owner.type === 'here' ? ok('done here') : NOT_OWNER);
  owners.clock.after(1_000, () => {
    owners.owner = { type: 'here', epoch: 1 };
  });

  const { result, ms } = await owners.ask();

  t.deepEqual(result, ok('done here'));
  t.true(ms >= 1_000 && ms <= 1_200, String(ms));
});

test('what no admin has room for is done here: its own refusal is the answer, at once', async (t) => {
  const owners = new ScriptedOwners();
  owners.owner = { type: 'no_room' };
  const refused = refuse('service_unavailable', 'No admin has room for the cluster.');
  owners.here = async () => Promise.resolve(refused);

  t.deepEqual(await owners.ask(), { result: refused, ms: 0 });
});

test('a change of owner is a slow answer: nobody, then another, one call each', async (t) => {
  const owners = new ScriptedOwners();
  owners.owner = { type: 'nobody' };
  owners.scripts = { c: answers('done by c') };
  owners.clock.after(3_000, () => {
    owners.owner = elsewhere('c', 8);
  });

  const { result, ms } = await owners.ask();

  t.deepEqual(result, ok('done by c'));
  t.true(ms >= 3_000 && ms <= 3_200, String(ms));
  t.is(owners.received.length, 1);
});

const SURE: Readonly<Record<string, Scripted>> = {
  'it owns it no more': says({ type: 'not_owner', owner: null, epoch: null }),
  'it is busy': says({ type: 'busy' }),
  'nothing reached it': UNSENT,
};
for (const [why, script] of Object.entries(SURE))
  for (const afterLoss of ['again', 'missing', 'record', null] as const)
    test(`asked again until it is done, whatever it is: ${why}, ${afterLoss}`, async (t) => {
      const owners = new ScriptedOwners();
      owners.scripts = { b: inTurn(script, script, answers('done')) };

      const { result, ms } = await owners.ask(afterLoss);

      t.deepEqual(result, ok('done'));
      t.is(ms, 50);
      t.deepEqual(
        owners.received.map(({ call: { attempt } }) => attempt),
        [1, 1, 1],
      );
    });

test('an owner that is not reached until the time is up: a 503 that says that nothing was done', async (t) => {
  const owners = new ScriptedOwners();
  owners.scripts = { b: UNSENT };

  const { result, ms } = await owners.ask('record');

  t.like(result, {
    ok: false,
    refusal: {
      code: 'service_unavailable',
      message: 'The admin that owns this cannot be reached now. Nothing was done; try again shortly.',
      retryAfterSeconds: 1,
    },
  });
  t.true(ms >= FORWARD_MS_MAX && ms <= FORWARD_MS_MAX + 10, String(ms));
});

test('what is done here under a lease that was lost is done at the next owner', async (t) => {
  const owners = new ScriptedOwners();
  owners.owner = { type: 'here', epoch: 7 };
  owners.here = async () => {
    owners.owner = elsewhere('b', 8);
    return Promise.resolve(NOT_OWNER);
  };
  owners.scripts = { b: answers('done by b') };

  t.deepEqual(await owners.ask(), { result: ok('done by b'), ms: 0 });
});

test('what is done here after a wait has only what is left of the time', async (t) => {
  const owners = new ScriptedOwners();
  owners.scripts = {
    b: () => {
      owners.clock.pass(1_000);
      owners.owner = { type: 'here', epoch: 8 };
      return { type: 'not_owner', owner: null, epoch: null };
    },
  };
  owners.here = () => new Promise(() => {});

  const { result, ms } = await owners.ask();

  t.deepEqual(result, { ok: false, refusal: IN_DOUBT });
  t.true(ms <= FORWARD_MS_MAX + 10, String(ms));
});

test('too many calls, and an admin of another version, are refused at once', async (t) => {
  const refusals = [];
  for (const type of ['overloaded', 'other_version', 'unknown_operation'] as const) {
    const owners = new ScriptedOwners();
    owners.scripts = { b: says({ type }) };
    const { result, ms } = await owners.ask('record');
    t.is(ms, 0);
    refusals.push(!(result instanceof Error) && !result.ok && [result.refusal.code, result.refusal.retryAfterSeconds]);
  }

  t.deepEqual(refusals, [
    ['service_unavailable', 1],
    ['service_unavailable', 1],
    ['service_unavailable', 1],
  ]);
});

test('while the database is away nobody is called, and the answer comes at once', async (t) => {
  const owners = new ScriptedOwners();
  owners.isDatabaseAway = true;

  const { result, ms } = await owners.ask();

  t.true(result instanceof DatabaseUnavailable);
  t.is(ms, 0);
  t.deepEqual(owners.received, []);
});

test('a first try asks whoever owned it a moment ago, and each further one whoever the row says', async (t) => {
  const owners = new ScriptedOwners();
  owners.lately = elsewhere('b', 7);
  owners.owner = elsewhere('c', 8);
  owners.scripts = { b: says({ type: 'not_owner', owner: null, epoch: null }), c: answers('done by c') };

  const { result } = await owners.ask();

  t.deepEqual(result, ok('done by c'));
  t.deepEqual(
    owners.received.map(({ admin, call }) => [admin, call.epoch]),
    [
      ['b', 7],
      ['c', 8],
    ],
  );
  t.is(owners.looks, 1);
});
