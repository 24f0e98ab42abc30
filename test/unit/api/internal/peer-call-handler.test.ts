/** What an owner does with a call of another admin: nothing that its caller has no time to hear of. */
import test from 'ava';
import { setTimeout as delay } from 'node:timers/promises';
import { createTracer } from '../../../../actors/tracer.ts';
import { ok } from '../../../../actors/refusal.ts';
import { Forwarding } from '../../../../api/forwarding/forwarding.ts';
import type { Owner, PeerCall } from '../../../../api/forwarding/ports.ts';
import { CALL_LEFT_MS_MIN, createPeerCallHandler } from '../../../../api/internal/peer-calls.ts';
import { delete_alias } from '../../../../api/operations/aliases.ts';
import { createRequestRecords } from '../../../../api/request-record.ts';
import { NodeId } from '../../../../transport/protocol/ids.ts';
import { SOME_ID } from '../../../support/api/fakes.ts';
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

/** An owner that counts what it does; `ownerOf` takes so long as the test says. */
function owner(looks: () => Promise<void> = async () => {}) {
  const log = recordingLog();
  const forwarding = new Forwarding(null);
  const done: string[] = [];
  const operation = {
    ...delete_alias,
    handle: async () => {
      done.push('done');
      return Promise.resolve(ok(null));
    },
  };
  const handler = createPeerCallHandler({
    operations: new Map([['delete_alias', operation as never]]),
    ports: {} as never,
    forwarding: {
      counters: forwarding.counters,
      ownerOf: async (): Promise<Owner> => {
        await looks();
        return { type: 'here', epoch: 7 };
      },
    },
    records: createRequestRecords(createTracer(null), log),
    log,
  });
  const said = async (changed: Partial<PeerCall>): Promise<string> =>
    (await handler({ ...CALL, ...changed }, 'b')).type;
  return { said, done, counted: forwarding.counters.in };
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
  const { said, done } = owner(async () => delay(CALL_LEFT_MS_MIN));

  t.is(await said({ remaining_ms: 2 * CALL_LEFT_MS_MIN - 1 }), 'busy');

  t.deepEqual(done, []);
});

test('a call that may have been done before is done again to the end, however late: it is in doubt until then', async (t) => {
  const { said, done } = owner();

  t.is(await said({ remaining_ms: 1, attempt: 2 }), 'answered');

  t.deepEqual(done, ['done']);
});
