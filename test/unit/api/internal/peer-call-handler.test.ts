/** What an owner does with a call of another admin: nothing that its caller has no time to hear of. */
import test from 'ava';
import { setImmediate as aTurn } from 'node:timers/promises';
import { createTracer } from '../../../../actors/tracer.ts';
import { ok, type Result } from '../../../../actors/refusal.ts';
import { IN_DOUBT } from '../../../../api/forwarding/forwarded-call.ts';
import { Forwarding } from '../../../../api/forwarding/forwarding.ts';
import type { Owner, PeerCall } from '../../../../api/forwarding/ports.ts';
import { CALL_LEFT_MS_MIN, createPeerCallHandler } from '../../../../api/internal/peer-calls.ts';
import { delete_alias } from '../../../../api/operations/aliases.ts';
import { createRequestRecords } from '../../../../api/request-record.ts';
import { NodeId } from '../../../../transport/protocol/ids.ts';
import type { Call } from '../../../../api/operation.ts';
import { SOME_ID } from '../../../support/api/fakes.ts';
import { answers, elsewhere, ScriptedOwners } from '../../../support/api/scripted-owners.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/log.ts';

const CALL: PeerCall = {
  call_id: SOME_ID,
  operation: 'delete_alias',
  input: { id: SOME_ID },
  target: { kind: 'node', id: NodeId.parse(SOME_ID) },
  epoch: 7,
  principal: 'api',
  surface: 'rest',
  request_id: 'request-1',
  traceparent: null,
  idempotency: null,
  remaining_ms: 4_500,
  attempt: 1,
};

/** What an owner does with its operation. */
type Handles = (call: Call) => Promise<Result<unknown>>;

/** An owner that counts what it does; `ownerOf` takes so many ms. */
function owner(looksMs = 0, handles: Handles = async () => Promise.resolve(ok(null))) {
  const log = recordingLog();
  const clock = createFakeClock();
  const forwarding = new Forwarding(null);
  const done: string[] = [];
  const operation = {
    ...delete_alias,
    handle: async (_input: unknown, call: Call) => {
      done.push('done');
      return await handles(call);
    },
  };
  const handler = createPeerCallHandler({
    operations: new Map([['delete_alias', operation as never]]),
    ports: { clock } as never,
    forwarding: {
      counters: forwarding.counters,
      ownerOf: async (): Promise<Owner> => {
        clock.pass(looksMs);
        return Promise.resolve({ type: 'here', epoch: 7 });
      },
    },
    records: createRequestRecords(createTracer(null), log),
    log,
    monotonicMs: () => clock.nowMs(),
  });
  const answer = (changed: Partial<PeerCall>) => handler({ ...CALL, ...changed }, 'b');
  const said = async (changed: Partial<PeerCall>): Promise<string> => (await answer(changed)).type;
  return { said, answer, done, clock, counted: forwarding.counters.in };
}

test('a call whose caller has no time left to hear of it is not begun, which its caller is told', async (t) => {
  const { said, done, counted } = owner();

  t.is(await said({ remaining_ms: CALL_LEFT_MS_MIN - 1 }), 'busy');
  t.deepEqual(done, []);
  t.is(await said({ remaining_ms: 4_500 }), 'answered');
  t.deepEqual(done, ['done']);
  t.like(counted, { busy: 1, answered: 1 });
});

test('what the look for the owner took is time of the caller', async (t) => {
  const { said, done } = owner(CALL_LEFT_MS_MIN);

  t.is(await said({ remaining_ms: 2 * CALL_LEFT_MS_MIN - 1 }), 'busy');

  t.deepEqual(done, []);
});

test('a call that may have been done before is done again to the end, however late: it is in doubt until then', async (t) => {
  const { said, done } = owner();

  t.is(await said({ remaining_ms: 1, attempt: 2 }), 'answered');

  t.deepEqual(done, ['done']);
});

test('an owner answers by the deadline of whoever asked, not by one of its own', async (t) => {
  const begun = Promise.withResolvers<void>();
  const { answer, clock } = owner(0, () => {
    begun.resolve();
    return new Promise(() => {});
  });

  const answered = answer({ remaining_ms: 3_000 });
  await begun.promise;
  while (clock.waiting() === 0) await aTurn();
  clock.pass(3_000);

  t.deepEqual(await answered, { type: 'answered', result: { ok: false, refusal: IN_DOUBT } });
});

test('what an operation would have another admin do is done by the owner itself: a call makes one hop', async (t) => {
  const owners = new ScriptedOwners();
  owners.owner = elsewhere('c', 9);
  owners.scripts = { c: answers('done by c') };
  const part = (handle: () => Promise<Result<unknown>>) => ({
    operation: 'label_given_nodes',
    input: {},
    afterLoss: 'again' as const,
    ownedBy: () => CALL.target,
    handle,
  });
  const log = recordingLog();
  const operation = {
    ...delete_alias,
    handle: (_input: unknown, call: Call) => call.forward(part(async () => Promise.resolve(ok('done here')))),
  };
  let looks = 0;
  const handler = createPeerCallHandler({
    operations: new Map([['delete_alias', operation as never]]),
    ports: { clock: owners.clock } as never,
    forwarding: Object.assign(owners.forwarding, {
      // The owner at the look before it is done, and no more once it is.
      ownerOf: async (): Promise<Owner> => {
        looks += 1;
        return Promise.resolve(looks === 1 ? { type: 'here', epoch: 7 } : owners.owner);
      },
    }),
    records: createRequestRecords(createTracer(null), log),
    log,
    monotonicMs: () => owners.clock.nowMs(),
  });

  const [done, handedOver] = [await handler(CALL, 'b'), await handler(CALL, 'b')];

  t.deepEqual(done, { type: 'answered', result: ok('done here') });
  t.deepEqual(handedOver, { type: 'not_owner', owner: 'c', epoch: 9 });
  t.deepEqual(owners.received, []);
});
