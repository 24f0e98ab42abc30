/**
 * Every operation of the catalogue on every surface, at an admin that owns nothing: it answers as the owner of
 * everything does. Made from the catalogue, so that a new operation is held to it at once; one that cannot be asked in
 * this way fails here until it is listed with its reason.
 */
import { ParityReleases } from './parity-releases.ts';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { CommandResource } from '../../../actors/resources/command.ts';
import { catalogue, type OperationName } from '../../../api/catalogue.ts';
import { pathParameters, type AnyOperation } from '../../../api/operation.ts';
import { inputSchema } from '../../../api/schemas.ts';
import { askOn, surfacesOf, type Answered, type Input, type Surface } from '../../support/api/surface-calls.ts';
import { hangAfter, isCrowded, scaled } from '../../support/busy.ts';
import { CLUSTER, FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { openReceiver } from '../../support/webhooks/receiver.ts';
import { createScope } from '../../support/scope.ts';
import { STILL } from './parity-still.ts';
import { MADE_UP, Subjects } from './parity-subjects.ts';

/** Operations that are not asked here. */
const NOT_ASKED: Partial<Record<OperationName, string>> = {};

/** Answers that tell of what is under way: as they would be once it is over. */
const ONCE_OVER: Partial<Record<OperationName, (value: never) => unknown>> = {
  cancel_command: (command: CommandResource) => {
    const { pending, cancelled } = command.summary;
    return { ...command, summary: { ...command.summary, pending: 0, cancelled: cancelled + pending } };
  },
};

/** Operations that are not asked for the same a second time. */
const ONCE: Partial<Record<OperationName, string>> = {
  redeliver_webhook_delivery: 'is done or refused, as the first one has arrived by then or not',
};

/** What is read while something moves in the background is read again at both, for so long, in ms. */
const STILL_MS_MAX = 10_000;

/** Fields of an input that are given wrongly, one at a time. */
const WRONG_FIELDS_MAX = 4;

const operations: readonly AnyOperation[] = Object.values(catalogue);
const asked = operations.filter(({ name }) => !(name in NOT_ASKED));

const scope = createScope();
let fleet: Fleet;
let owner: AdminProgram;
/** The admin that owns nothing, and has room for nothing. */
let other: AdminProgram;
let subjects: Subjects;

test.before('two admins and an agent start, and one of them gets everything', async () => {
  const receiver = await openReceiver(scope);
  fleet = await startFleet(scope, {
    admins: 2,
    agents: 1,
    env: {
      PUBLIC_ENROLLMENT_KEY_ENABLED: 'true',
      DEFAULT_CLUSTER_NAME: CLUSTER,
      WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
      AUTH_FAILURES_PER_MINUTE_MAX: '100000',
    },
  });
  ({ owner, other } = await ownership(fleet));
  await other.kill();
  await other.start({ ADMIN_MAX_WIREGUARD_PEERS: '1' }); // which is the other admin
  subjects = new Subjects({
    rest: restClient(() => owner.url, FLEET_KEYS.MASTER_KEY),
    ownerUrl: owner.url,
    receiverUrl: receiver.endpoint().url,
    releases: new ParityReleases(scope, owner.url),
    liveNode: fleet.agent().node,
    idleAdmin: other.name,
  });
  await fleet.reaches(fleet.agent(), 'healthy');
});
test.after.always('they end', () => scope.end());

for (const operation of asked) {
  test.serial(`${operation.name} answers as at the owner`, async (t) => {
    t.timeout(hangAfter(60_000));
    for (const surface of surfacesOf(operation)) {
      await (operation.kind === 'query' ? reads(t, surface, operation) : changes(t, surface, operation));
      for (const [what, input, key] of await wrongOnes(operation))
        t.deepEqual(
          plain(await ask(surface, other, operation, input, key)),
          plain(await ask(surface, owner, operation, input, key)),
          `${surface}, ${what}: ${JSON.stringify(input)}`,
        );
    }
  });
}

for (const operation of asked.filter(({ creates, rest }) => creates && rest !== null)) {
  test.serial(`${operation.name} under one key is done once at both`, async (t) => {
    t.timeout(hangAfter(60_000));
    const input = await subjects.inputOf(operation);
    const headers = { 'idempotency-key': randomUUID() };

    const answers = [other, owner, other].map(
      ({ url }) =>
        () =>
          askOn('rest', url, operation, input, FLEET_KEYS.MASTER_KEY, headers),
    );
    const [first, ...again] = [await answers[0]?.(), await answers[1]?.(), await answers[2]?.()];

    t.is(first?.code, null, JSON.stringify(first));
    for (const answer of again) t.deepEqual(answer, first);
  });
}

test.serial('all that is listed as different is an operation, and nothing changed hands', async (t) => {
  const names: readonly string[] = operations.map(({ name }) => name);

  t.deepEqual(
    Object.keys({ ...NOT_ASKED, ...STILL, ...ONCE_OVER, ...ONCE }).filter((name) => !names.includes(name)),
    [],
  );
  const gone = await fleet.sql(
    `select c.name from cluster_ownership w join admin a on a.id = w.admin_id join cluster c on c.id = w.cluster_id where a.name = $1 and w.lease_until > clock_timestamp()`,
    [other.name],
  );
  // On a crowded machine leases lapse, and one without nodes needs no room.
  t.true(gone.length === 0 || isCrowded(), JSON.stringify(gone));
});

/** The same thing is read at both. */
async function reads(t: ExecutionContext, surface: Surface, operation: AnyOperation): Promise<void> {
  const input = await subjects.inputOf(operation);
  const beganMs = performance.now();
  for (;;) {
    const there = seen(operation, await ask(surface, owner, operation, input));
    const here = seen(operation, await ask(surface, other, operation, input));
    t.is(there.code, null, `${surface} at the owner: ${JSON.stringify(there)}`);
    const isOver = performance.now() - beganMs > scaled(STILL_MS_MAX);
    if (isOver || JSON.stringify(here) === JSON.stringify(there)) {
      t.deepEqual(here, there, surface);
      return;
    }
  }
}

/** Each changes a thing of its own, and is asked for the same a second time. */
async function changes(t: ExecutionContext, surface: Surface, operation: AnyOperation): Promise<void> {
  const [there, here] = [await subjects.inputOf(operation), await subjects.inputOf(operation)];
  for (const what of operation.name in ONCE ? ['at first'] : ['at first', 'once more']) {
    const expected = seen(operation, await ask(surface, owner, operation, there));
    if (what === 'at first') t.is(expected.code, null, `${surface} at the owner: ${JSON.stringify(expected)}`);
    t.deepEqual(seen(operation, await ask(surface, other, operation, here)), expected, `${surface}, ${what}`);
  }
}

/** A field too many, fields of a wrong form, things that there are not, and keys that do not reach. */
async function wrongOnes(
  operation: AnyOperation,
): Promise<readonly (readonly [what: string, input: Input, key: string | null])[]> {
  const right = await subjects.inputOf(operation);
  const inPath = operation.rest === null ? [] : pathParameters(operation.rest.path);
  const isGet = operation.rest?.method === 'GET';
  const { properties = {} } = inputSchema(operation) as { readonly properties?: object };
  const key = FLEET_KEYS.MASTER_KEY;
  const missing = inPath.map((field) => [field, field.endsWith('id') ? randomUUID() : 'no-such-thing']);
  return [
    ['a field too many', { ...right, no_such_field: 'x' }, key],
    ...Object.keys(properties)
      .slice(0, WRONG_FIELDS_MAX)
      .map(
        (field) =>
          [field, { ...right, [field]: isGet || inPath.includes(field) ? '!' : [{ wrong: true }] }, key] as const,
      ),
    ...(missing.length > 0 ? [['nothing', { ...right, ...Object.fromEntries(missing) }, key] as const] : []),
    // What anybody may do would be done.
    ...(operation.scope === 'public'
      ? []
      : [null, FLEET_KEYS.PROXY_KEY].map((wrong) => ['a wrong key', right, wrong] as const)),
  ];
}

/**
 * Asks; on a crowded machine, where a lease may have run out, for STILL_MS_MAX again where that cannot be done right
 * now.
 */
async function ask(
  surface: Surface,
  { url }: AdminProgram,
  operation: AnyOperation,
  input: Input,
  key: string | null = FLEET_KEYS.MASTER_KEY,
): Promise<Answered> {
  const beganMs = performance.now();
  for (;;) {
    const answer = await askOn(surface, url, operation, input, key);
    const isOver = performance.now() - beganMs > scaled(STILL_MS_MAX);
    if (isOver || !isCrowded() || answer.code !== 'service_unavailable') return answer;
    await delay(200);
  }
}

/** What is compared of an answer. */
function seen({ name }: AnyOperation, answer: Answered): Answered {
  if (answer.code !== null) return plain(answer);
  const part = STILL[name as OperationName] ?? ONCE_OVER[name as OperationName];
  const value = part === undefined ? answer.value : part(answer.value as never);
  return plain({ ...answer, value });
}

/**
 * What two things of one kind differ in, taken out wherever it stands: ids, names made up, secrets, ranges, times, and
 * the address of the admin that answers.
 */
function plain(answer: Answered): Answered {
  return JSON.parse(
    JSON.stringify(answer, (field, value: unknown) => {
      if (typeof value !== 'string') return value;
      if (field === 'name' && /^[0-9a-f]{8}$/u.test(value)) return '<name>'; // of a node that has no other
      return value
        .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gu, '<id>')
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/gu, '<time>')
        .replaceAll(new RegExp(`${MADE_UP}\\d+`, 'gu'), '<name>')
        .replaceAll(/(?:[0-9a-f]*:[0-9a-f:]+|\d+(?:\.\d+){3})\/\d+/gu, '<range>')
        .replaceAll(/[\w-]{40,}/gu, '<secret>')
        .replaceAll(new RegExp([owner, other].map(({ url }) => new URL(url).host).join('|'), 'gu'), '<admin>');
    }),
  ) as Answered;
}
