/** A request has one deadline, for all that is done for it: at its owner, at the next one, or here. */
import test from 'ava';
import { setImmediate as aTurn } from 'node:timers/promises';
import { ASK_MS_MAX } from '../../../../actors/limits.ts';
import { ok, refuse, type Result } from '../../../../actors/refusal.ts';
import { WHOLE } from '../../../../actors/standing.ts';
import { FORWARD_MS_MAX } from '../../../../api/forwarding/deadline.ts';
import { IN_DOUBT } from '../../../../api/forwarding/forwarded-call.ts';
import { CAPACITY_FREED_MS_MAX, withFreedCapacity } from '../../../../api/forwarding/freed-capacity.ts';
import type { PeerCall } from '../../../../api/forwarding/ports.ts';
import { encodeEnrollmentBlob } from '../../../../transport/protocol/enrollment.ts';
import { ENROLL_PATH } from '../../../../transport/protocol/version.ts';
import { PORTS } from '../../../support/actors.ts';
import { serveApi, SOME_ID } from '../../../support/api/fakes.ts';
import { ScriptedOwners } from '../../../support/api/scripted-owners.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const FULL = refuse('degraded_mode', 'There is no room at the admin of this cluster.');
const NOT_NOW = refuse('conflict', 'It is something else that is wrong.');

/** An ask of an actor that does not answer: it is over after its own time. */
function unanswered(owners: ScriptedOwners): () => Promise<Result<unknown>> {
  return () =>
    new Promise((resolve) => {
      owners.clock.after(ASK_MS_MAX, () => resolve(refuse('service_unavailable', 'The actor did not answer.')));
    });
}

test('an admin that becomes the owner while it waits for one has what is left of the time', async (t) => {
  const owners = new ScriptedOwners();
  owners.owner = { type: 'nobody' };
  owners.here = unanswered(owners);
  owners.clock.after(4_000, () => {
    owners.owner = { type: 'here', epoch: 8 };
  });

  const { result, ms } = await owners.ask();

  t.deepEqual(result, { ok: false, refusal: IN_DOUBT });
  t.true(ms >= FORWARD_MS_MAX && ms <= FORWARD_MS_MAX + 10, String(ms));
});

test('what is gone once an owner was waited for is looked for in what is left of the time', async (t) => {
  const owners = new ScriptedOwners();
  owners.owner = { type: 'nobody' };
  owners.here = unanswered(owners);
  owners.clock.after(4_000, () => {
    owners.owner = { type: 'missing' };
  });

  const { result, ms } = await owners.ask();

  t.deepEqual(result, { ok: false, refusal: IN_DOUBT });
  t.true(ms <= FORWARD_MS_MAX + 10, String(ms));
});

test('what is begun here at once ends by its own ask, whose answer it is', async (t) => {
  const owners = new ScriptedOwners();
  owners.owner = { type: 'here', epoch: 7 };
  owners.here = unanswered(owners);

  const { result, ms } = await owners.ask();

  t.like(result, { ok: false, refusal: { message: 'The actor did not answer.' } });
  t.is(ms, ASK_MS_MAX);
});

/** Another admin owns all there is, is full, and needs a second for each answer: one for each of what it is asked. */
function fullOwner(): ScriptedOwners {
  const owners = new ScriptedOwners();
  let refusals = 0;
  owners.scripts = {
    b: ({ operation }: PeerCall) => {
      owners.clock.pass(1_000);
      if (operation === 'make_room') return { type: 'answered', result: ok(true) };
      refusals += 1;
      return { type: 'answered', result: refusals === 1 ? FULL : NOT_NOW };
    },
  };
  return owners;
}

const ENROLS = {
  enrollment_key: encodeEnrollmentBlob({
    admin_urls: ['http://127.0.0.1:44000'],
    cluster_name: 'one',
    nonce: 'a-nonce-of-at-least-22-characters',
  }),
  node_id: SOME_ID,
  id_type: 'persistent',
  version: '0.1.0',
  ports: PORTS,
  self_update_enabled: false,
};

for (const [what, path, body] of [
  ['a move', `/api/v1/nodes/${SOME_ID}/change_cluster`, { cluster_name: 'one' }],
  ['an enrolment', ENROLL_PATH, ENROLS],
] as const)
  test(`both tries of ${what} and the room that is made in between have one deadline`, async (t) => {
    const owners = fullOwner();
    const key = { id: 'k', cluster: SOME_ID, usesRemaining: 3, expiredAtMs: null };
    const { request } = await serveApi(t, {
      forwarding: owners.forwarding,
      reads: { clusterId: async () => SOME_ID as never, enrollmentKeyByNonce: async () => key as never },
    });

    const { status } = await request('POST', path, { body });

    t.is(status, 409);
    t.deepEqual(
      owners.received.map(({ call }) => [call.operation === 'make_room', call.remaining_ms]),
      [
        [false, FORWARD_MS_MAX],
        [true, FORWARD_MS_MAX - 1_000],
        [false, FORWARD_MS_MAX - 2_000],
      ],
    );
  });

test('room that is not made in what is left of the time is not waited for, and nothing is tried again', async (t) => {
  const waitedMs = async (leftMs: number): Promise<readonly unknown[]> => {
    const clock = createFakeClock();
    const beganMs = clock.nowMs();
    let tries = 0;
    const perform = async () => {
      tries += 1;
      return Promise.resolve(FULL);
    };
    const ended: number[] = [];
    void withFreedCapacity<unknown>(perform, {
      entered: async () => Promise.resolve(SOME_ID as never),
      ports: { standing: () => WHOLE, makeRoom: async () => Promise.resolve(true), clock },
      forward: () => new Promise(() => {}),
      deadline: { leftMs: () => leftMs },
    }).then(() => ended.push(clock.nowMs() - beganMs));
    for (;;) {
      for (let turn = 0; turn < 5; turn += 1) await aTurn();
      if (ended.length > 0) return [...ended, tries];
      clock.pass(100);
    }
  };

  t.deepEqual(await waitedMs(300), [300, 1]);
  t.deepEqual(await waitedMs(4_000), [CAPACITY_FREED_MS_MAX, 1]);
});
