/** An operation whose answer was lost: fetched, settled by the rows once its owner is another, or told as such. */
import test from 'ava';
import { ok, refuse, UNAVAILABLE } from '../../../actors/refusal.ts';
import { catalogue } from '../../../api/catalogue.ts';
import { FORWARD_MS_MAX } from '../../../api/forwarding/deadline.ts';
import { IN_DOUBT } from '../../../api/forwarding/forwarded-call.ts';
import { SOME_ID } from '../../support/api/fakes.ts';
import { answers, elsewhere, inTurn, LOST, says, ScriptedOwners, silent } from '../../support/api/scripted-owners.ts';

const NOT_FOUND = refuse('not_found', 'Resource not found');

for (const afterLoss of ['again', 'missing', 'record', null] as const)
  test(`a lost answer is fetched from the same process by the same id: ${afterLoss}`, async (t) => {
    const owners = new ScriptedOwners();
    owners.scripts = { b: inTurn(LOST, answers('done once')) };

    t.deepEqual((await owners.ask(afterLoss)).result, ok('done once'));

    t.is(new Set(owners.received.map(({ call: { call_id } }) => call_id)).size, 1);
    t.deepEqual(
      owners.received.map(({ call: { attempt } }) => attempt),
      [1, 2],
    );
  });

test('an answer that stays lost, of an owner that stays: a 503 that says that nobody knows', async (t) => {
  const owners = new ScriptedOwners();
  owners.scripts = { b: silent(owners.clock) };

  const { result, ms } = await owners.ask('again');

  t.deepEqual(result, { ok: false, refusal: IN_DOUBT });
  t.true(ms >= FORWARD_MS_MAX && ms <= FORWARD_MS_MAX + 10, String(ms));
  t.is(owners.log.lines.filter(({ level }) => level === 'warn').length, 1);
});

/** Its owner is frozen, another one takes over after 3.2 s. */
function frozenOwner(): ScriptedOwners {
  const owners = new ScriptedOwners();
  owners.scripts = { b: silent(owners.clock), c: answers('done by c') };
  owners.clock.after(3_000, () => {
    owners.owner = { type: 'nobody' };
  });
  owners.clock.after(3_200, () => {
    owners.owner = elsewhere('c', 8);
  });
  return owners;
}

/** Its owner is frozen, and nobody has room to take over. */
function ownerWithoutNext(): ScriptedOwners {
  const owners = frozenOwner();
  owners.clock.after(3_200, () => {
    owners.owner = { type: 'no_room' };
  });
  owners.here = async () => Promise.resolve(refuse('service_unavailable', 'No admin has room for the cluster.'));
  return owners;
}

test('lost with its owner, and may be done twice: done again at the next one', async (t) => {
  const owners = frozenOwner();

  const { result, ms } = await owners.ask('again');

  t.deepEqual(result, ok('done by c'));
  t.true(ms >= 3_200 && ms < 3_500, String(ms));
  t.deepEqual(
    owners.received.map(({ admin, call: { attempt } }) => [admin, attempt]),
    [
      ['b', 1],
      ['c', 2],
    ],
  );
});

for (const code of ['service_unavailable', 'degraded_mode'] as const)
  test(`lost with its owner, and the next one cannot do it now (${code}): nobody knows`, async (t) => {
    const [atNext, here] = [frozenOwner(), frozenOwner()];
    atNext.scripts['c'] = says({ type: 'answered', result: refuse(code, 'Not now.') });
    here.clock.after(3_200, () => {
      here.owner = { type: 'here', epoch: 8 };
    });
    here.here = async () => Promise.resolve(refuse(code, 'Not now.'));

    t.deepEqual((await atNext.ask('again')).result, { ok: false, refusal: IN_DOUBT });
    t.deepEqual((await here.ask('again')).result, { ok: false, refusal: IN_DOUBT });
  });

for (const afterLoss of ['again', 'record', 'missing', null] as const)
  test(`lost with its owner, and no admin has room for what it owned: nobody knows (${afterLoss})`, async (t) => {
    const owners = ownerWithoutNext();

    t.deepEqual((await owners.ask(afterLoss)).result, { ok: false, refusal: IN_DOUBT });

    t.is(owners.handled.length, afterLoss === null ? 0 : 1);
  });

test('a create that was lost with its owner is answered by its record where no admin has room', async (t) => {
  const owners = ownerWithoutNext();
  owners.records.set(`some_operation:forwarded ${SOME_ID}`, 'made by b');

  t.deepEqual((await owners.ask('record')).result, ok('made by b'));
});

test('lost with its owner, and refused by the next one for good: so it is, done or not', async (t) => {
  const owners = frozenOwner();
  owners.scripts['c'] = says({ type: 'answered', result: NOT_FOUND });

  t.deepEqual((await owners.ask('again')).result, NOT_FOUND);
});

test('lost on its way, and the same process cannot do it now: nothing was done, and nobody says otherwise', async (t) => {
  const owners = new ScriptedOwners();
  owners.scripts = { b: inTurn(LOST, says({ type: 'answered', result: { ok: false, refusal: UNAVAILABLE } })) };

  t.deepEqual((await owners.ask('again')).result, { ok: false, refusal: UNAVAILABLE });
});

test('lost with its owner, and not to be done twice: nobody knows', async (t) => {
  const owners = frozenOwner();

  const { result, ms } = await owners.ask(null);

  t.deepEqual(result, { ok: false, refusal: IN_DOUBT });
  t.true(ms < 3_500, String(ms));
  t.is(owners.received.length, 1);
});

for (const { name, afterLoss } of [catalogue.redeliver_webhook_delivery, catalogue.update_enrollment_key])
  test(`lost with its owner, and not the same if it is done twice: the next one is not asked (${name})`, async (t) => {
    const owners = frozenOwner();

    t.deepEqual((await owners.ask(afterLoss)).result, { ok: false, refusal: IN_DOUBT });

    t.deepEqual(
      owners.received.map(({ admin }) => admin),
      ['b'],
    );
  });

test('a create that was lost with its owner is answered by its record, or done at the next one under the same key', async (t) => {
  const [stored, not] = [frozenOwner(), frozenOwner()];
  const own = `some_operation:forwarded ${SOME_ID}`;
  stored.records.set(own, 'made by b');

  t.deepEqual((await stored.ask('record')).result, ok('made by b'));
  t.deepEqual((await not.ask('record')).result, ok('done by c'));

  t.deepEqual(
    not.received.map(({ call: { idempotency } }) => `${idempotency?.scope} ${idempotency?.key}`),
    [own, own],
  );
});

test('a create whose client has a key keeps it', async (t) => {
  const owners = frozenOwner();
  owners.records.set('create:api key-1', 'made by b');

  const { result } = await owners.ask('record', {
    idempotency: { scope: 'create:api', key: 'key-1', bodyHash: 'hash' },
  });

  t.deepEqual(result, ok('made by b'));
  t.like(owners.received[0]?.call.idempotency, { scope: 'create:api', key: 'key-1', body_hash: 'hash' });
});

test('a create that the next owner finds done meanwhile is answered by its record', async (t) => {
  const owners = frozenOwner();
  owners.scripts['c'] = () => {
    owners.records.set(`some_operation:forwarded ${SOME_ID}`, 'made by b');
    return { type: 'answered', result: refuse('conflict', 'The name is taken.') };
  };

  t.deepEqual((await owners.ask('record')).result, ok('made by b'));
});

test('a delete that was lost with its owner was done when nothing is there, at the next one or anywhere', async (t) => {
  const [atNext, gone, never] = [frozenOwner(), frozenOwner(), new ScriptedOwners()];
  atNext.scripts['c'] = says({ type: 'answered', result: NOT_FOUND });
  gone.clock.after(3_200, () => {
    gone.owner = { type: 'missing' };
  });
  never.scripts = { b: says({ type: 'answered', result: NOT_FOUND }) };

  t.deepEqual((await atNext.ask('missing')).result, ok(null));
  t.deepEqual((await gone.ask('missing')).result, ok(null));
  t.deepEqual((await never.ask('missing')).result, NOT_FOUND);
});

test('a delete of what is gone already is not called done, whatever is remembered of its owner', async (t) => {
  const gone = frozenOwner();
  gone.lately = elsewhere('b', 7);
  gone.owner = { type: 'missing' };
  gone.here = async () => Promise.resolve(NOT_FOUND);

  t.deepEqual((await gone.ask('missing')).result, NOT_FOUND);
  t.deepEqual(gone.received, []);
});

test('lost with its owner, and this admin is the next one: done here, as a repeat', async (t) => {
  const owners = frozenOwner();
  owners.clock.after(3_200, () => {
    owners.owner = { type: 'here', epoch: 8 };
  });

  t.deepEqual((await owners.ask('again')).result, ok('done here'));
  t.deepEqual(owners.handled, [{ idempotency: null, isRepeat: true }]);
});

test('what came of an earlier try is forgotten there: a record says it, or nobody knows', async (t) => {
  const [recorded, not] = [new ScriptedOwners(), new ScriptedOwners()];
  for (const owners of [recorded, not]) owners.scripts = { b: says({ type: 'in_doubt' }) };
  recorded.records.set('create:api key-1', 'made by b');
  const idempotency = { scope: 'create:api', key: 'key-1', bodyHash: 'hash' };

  t.deepEqual((await recorded.ask('record', { idempotency })).result, ok('made by b'));
  t.deepEqual((await not.ask('again')).result, { ok: false, refusal: IN_DOUBT });
});

test('of an answer that was lost with the database the caller is told that nobody knows', async (t) => {
  const owners = new ScriptedOwners();
  owners.scripts = {
    b: () => {
      owners.isDatabaseAway = true;
      return { type: 'lost', sure: false, why: 'broke off' };
    },
  };

  t.deepEqual((await owners.ask()).result, { ok: false, refusal: IN_DOUBT });
});
