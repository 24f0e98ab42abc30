/** The enrolment route and machines that have a node already: whose it is, and how often it is enrolled again (L1). */
import test from 'ava';
import { enroll } from '../../../../agent/enrollment/enroll.ts';
import { ENROLLED_AGAIN_BURST_MAX, ENROLLED_AGAIN_PER_MINUTE_MAX } from '../../../../api/rest/enrolling-again.ts';
import type { EnrolledBefore } from '../../../../actors/records.ts';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { ok, UNAVAILABLE } from '../../../../actors/refusal.ts';
import { encodeEnrollmentBlob } from '../../../../transport/protocol/enrollment.ts';
import { ENROLL_PATH } from '../../../../transport/protocol/version.ts';
import { serveApi, SOME_ID } from '../../../support/api/fakes.ts';
import { ScriptedOwners } from '../../../support/api/scripted-owners.ts';
import { until } from '../../../support/until.ts';
import { idOf } from '../../../support/api/rows.ts';
import { nodeRecord, PORTS, SETTINGS } from '../../../support/actors.ts';
import { silentLog } from '../../../support/log.ts';
import { seededNumbers } from '../../../support/seeded.ts';
import type { ExecutionContext } from 'ava';

const [SECRET, RECOVERY] = ['s'.repeat(43), 'the-secret-of-the-recovery-key'];
const body = {
  enrollment_key: encodeEnrollmentBlob({ admin_urls: ['http://a.test'], cluster_name: 'one', nonce: 'n'.repeat(22) }),
  node_id: SOME_ID,
  id_type: 'persistent',
  version: '0.1.0',
  ports: PORTS,
  self_update_enabled: false,
} as const;
const own = { ...body, machine_secret: SECRET };
const recovering = { ...body, recovery_key: RECOVERY, machine_secret: 'r'.repeat(43) };

/** How often a failing address is answered in a minute. Source: FAILURES_PER_MINUTE_MAX. */
const FAILURES_MAX = 60;

/** A service where every id is a node's that this machine has enrolled, with a key that is spent and over. */
async function served(t: ExecutionContext) {
  const existing: EnrolledBefore = {
    node: nodeRecord(),
    everConnected: true,
    machineSecretHash: Buffer.from(`hash of ${SECRET}`),
    recoveryKeyHash: Buffer.from(`hash of ${RECOVERY}`),
    aliases: [],
  };
  let [asked, events] = [0, 0];
  const { request, clock } = await serveApi(t, {
    reads: {
      enrollmentKeyByNonce: async () =>
        ({ id: 'k', cluster: SOME_ID, clusterName: 'one', usesRemaining: 0, expiredAtMs: 1 }) as never,
      nodeForEnrollment: async () => existing,
    },
    records: {
      publish: async (event) => {
        events += 1;
        return event as never;
      },
    },
    ports: {
      ask: async () => {
        asked += 1;
        const answer = { node_id: SOME_ID, api_token: 't', proxy_password: 'p', cluster_name: 'one', admin_urls: [] };
        return ok({ ...answer, settings: SETTINGS.agent }) as never;
      },
    },
  });
  return {
    clock,
    get asked() {
      return asked;
    },
    get events() {
      return events;
    },
    enrol: (sent: object) => request('POST', ENROLL_PATH, { headers: { authorization: '' }, body: sent }),
  };
}

test(`a machine enrols its node ${ENROLLED_AGAIN_BURST_MAX} times in a row; beyond, its cluster is not asked`, async (t) => {
  const service = await served(t);
  const backMs = 60_000 / ENROLLED_AGAIN_PER_MINUTE_MAX;
  for (let tries = 0; tries < ENROLLED_AGAIN_BURST_MAX; tries += 1) t.is((await service.enrol(own)).status, 201);

  const limited = await service.enrol(own);

  t.deepEqual(
    [limited.status, limited.body?.error?.code, limited.headers.get('retry-after')],
    [429, 'rate_limited', String(backMs / 1_000)],
  );
  t.is(service.asked, ENROLLED_AGAIN_BURST_MAX);
  t.is((await service.enrol({ ...own, node_id: idOf(2) })).status, 201);
  t.is((await service.enrol(recovering)).status, 201, 'who is to have the node is not held up by who has it');
  service.clock.nowMs += backMs - 1;
  t.is((await service.enrol(own)).status, 429);
  service.clock.nowMs += 1;
  t.deepEqual([(await service.enrol(own)).status, (await service.enrol(own)).status], [201, 429]);
});

test('an honest machine whose answers are lost for a quarter of an hour, at both URLs of its admin, is let in each time', async (t) => {
  for (const seed of [1, 2, 3]) {
    const service = await served(t);
    const statuses = new Set<number>();
    const random = seededNumbers(seed);
    const endsMs = service.clock.nowMs + 900_000;

    await enroll({
      request: own,
      adminUrls: ['http://one.test', 'http://two.test'],
      log: silentLog,
      random: () => random() / 2 ** 32,
      sleep: async (ms) => {
        service.clock.nowMs += ms;
      },
      post: async (_url, sent) => {
        const answer = await service.enrol(sent as object);
        statuses.add(answer.status);
        if (service.clock.nowMs < endsMs) throw new Error('the answer was lost');
        return { status: answer.status, body: answer.body };
      },
    });

    t.deepEqual([...statuses], [201]);
    t.true(service.asked > 100);
  }
});

for (const [who, shown] of [
  ['has no secret', {}],
  ['has another secret', { machine_secret: 'o'.repeat(43) }],
  ['has a wrong recovery key', { recovery_key: 'wrong', machine_secret: 'o'.repeat(43) }],
] as const)
  test(`whoever knows a node's id and ${who} never gets to its cluster, and fails ${FAILURES_MAX} times a minute`, async (t) => {
    const service = await served(t);
    const sent = { ...body, ...shown };
    for (let tries = 0; tries < FAILURES_MAX; tries += 1) {
      const refused = await service.enrol(sent);
      t.deepEqual([refused.status, refused.body?.error?.code], [409, 'conflict']);
    }

    const limited = await service.enrol(sent);

    t.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '60']);
    await service.enrol(sent);
    t.deepEqual([service.asked, service.events], [0, FAILURES_MAX + 1]);
    t.is((await service.enrol(own)).status, 201, 'the machine itself, from the same address');
    t.is((await service.enrol(recovering)).status, 201, 'whoever has the recovery key');
    service.clock.nowMs += 60_000;
    t.is((await service.enrol(sent)).status, 409);
  });

test('where a read fails nothing was done, and the machine is told so', async (t) => {
  const { request } = await serveApi(t, {
    reads: {
      enrollmentKeyByNonce: async () => {
        throw new DatabaseUnavailable('away');
      },
    },
  });

  const { status, body: said } = await request('POST', ENROLL_PATH, { headers: { authorization: '' }, body: own });

  t.deepEqual([status, said?.error?.message], [503, UNAVAILABLE.message]);
});

test('after a wait for an owner a machine is let in by what the rows say then', async (t) => {
  const owners = new ScriptedOwners();
  owners.owner = { type: 'nobody' };
  const unmet: EnrolledBefore = {
    node: nodeRecord(),
    everConnected: true,
    machineSecretHash: null,
    recoveryKeyHash: Buffer.from(`hash of ${RECOVERY}`),
    aliases: [],
  };
  // an earlier try of the same machine was stored meanwhile
  const met = {
    ...unmet,
    machineSecretHash: Buffer.from(`hash of ${recovering.machine_secret}`),
    recoveryKeyHash: null,
  };
  const found: EnrolledBefore[] = [unmet, met];
  const { request, asked } = await serveApi(t, {
    forwarding: owners.forwarding,
    reads: {
      enrollmentKeyByNonce: async () =>
        ({ id: 'k', cluster: SOME_ID, clusterName: 'one', usesRemaining: 0, expiredAtMs: 1 }) as never,
      nodeForEnrollment: async () => found.shift() ?? met,
    },
  });

  const entering = request('POST', ENROLL_PATH, { headers: { authorization: '' }, body: recovering });
  await until('it waits for an owner', () => owners.looks > 0);
  owners.clock.pass(1_000);
  owners.owner = { type: 'here', epoch: 8 };
  await until('its cluster to be asked', () => {
    owners.clock.pass(100);
    return asked.length > 0;
  });
  await entering;

  t.like(asked[0]?.message, { type: 'enroll', existing: met });
});
