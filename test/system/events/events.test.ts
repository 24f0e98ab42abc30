/**
 * Every event that the product emits, as a subscriber of a running admin gets it from real changes: exact, a
 * CloudEvent, free of secrets, and told at the time of the change.
 */
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { v7 } from 'uuid';
import { CloudEvent } from 'cloudevents';
import { Pool } from 'pg';
import { envelopeOf } from '../../../actors/event-catalogue.ts';
import { EVENT_TYPES, type Envelope, type EventType } from '../../../actors/events.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { SshUsernameResource } from '../../../actors/resources/ssh.ts';
import { createSweeps } from '../../../persistence/sweeps/sweeps.ts';
import type { Registration } from '../../../transport/protocol/agent-description.ts';
import { PROTOCOL_VERSION } from '../../../transport/protocol/version.ts';
import { socketClient } from '../../support/api/trpc-clients.ts';
import { createDatabase } from '../../support/database.ts';
import { CLUSTER, FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { enrollment, enrollRaw, type RawAgent, type RawSession } from '../../support/fleet/raw-agent.ts';
import { createScope } from '../../support/scope.ts';
import { newKey } from '../../support/ssh-keys.ts';
import { until } from '../../support/until.ts';

/**
 * What later parts of the product will emit. Until then their examples are all there is of them: see
 * test/unit/actors/event-catalogue.test.ts.
 */
const NOT_EMITTED_YET: readonly EventType[] = ['edge.node.update_triggered', 'edge.self_update_request.completed'];

const scope = createScope();
const events: Envelope[] = [];
/** What must be in no event. */
const secrets: string[] = Object.values(FLEET_KEYS);
let fleet: Fleet;
let pool: Pool;

test.before('a fleet starts, and a client subscribes to all of its events', async () => {
  const connection = await createDatabase(scope);
  pool = new Pool({ ...connection, max: 1 });
  pool.on('error', () => {}); // its end does not wait for the server's, which may be dropping the database by then
  scope.teardown(() => pool.end());
  fleet = await startFleet(scope, { connection, env: { NODE_UNREACHABLE_AFTER_MS: '1000', CORE_NAME: 'plant-7' } });
  const client = socketClient(scope as never, fleet.admins[0]?.url ?? '', FLEET_KEYS.API_KEY);
  await new Promise<void>((resolve, reject) => {
    const subscription = client.events.watch.subscribe(
      {},
      {
        onData({ data }) {
          if (data.type === 'started') resolve();
          else events.push(...data.events);
        },
        onError: reject,
      },
    );
    scope.teardown(() => subscription.unsubscribe());
  });
});

test.after.always('the fleet ends', () => scope.end());

/** The events of this type whose data has these values, once there are as many as wanted. */
async function told(type: EventType, data: Readonly<Record<string, unknown>>, count = 1): Promise<readonly Envelope[]> {
  const found = () =>
    events.filter(
      (event) => event.type === type && Object.entries(data).every(([field, value]) => event.data[field] === value),
    );
  return until(`${count} ${type} with ${JSON.stringify(data)}`, () => (found().length >= count ? found() : null));
}

/** The only one. */
async function toldOnce(type: EventType, data: Readonly<Record<string, unknown>>): Promise<Envelope> {
  const [event] = await told(type, data);
  if (event === undefined) throw new Error(`no ${type}`);
  return event;
}

async function raw(): Promise<RawAgent> {
  const agent = await enrollRaw(scope, fleet);
  secrets.push(agent.api_token, agent.proxy_password);
  return agent;
}

async function greet(agent: RawAgent, registration: Partial<Registration> = {}): Promise<RawSession> {
  const session = await agent.connect({ greets: false });
  const { version, id_type, ports, self_update_enabled } = enrollment('') as unknown as Registration;
  session.send({
    type: 'hello',
    protocol: 1,
    node: agent.node_id,
    registration: { version, id_type, ports, self_update_enabled, ...registration },
    report: { services: [] },
    holding: [],
  });
  await session.frame('welcome');
  return session;
}

async function key(body: object): Promise<EnrollmentKeyResource> {
  const made = await fleet.key(body);
  secrets.push(made.key);
  return made;
}

const enrol = (enrollmentKey: string, node?: string) =>
  fleet.rest.call('POST', '/agents/enroll', { body: enrollment(enrollmentKey, node) });
const only = (node: string) => ({ targeting: { type: 'nodes', node_ids: [node] } });

test('an agent that joins is told of by its key, as registered, and as healthy', async (t) => {
  const { id, key: blob } = await key({ name: 'dock 4', uses_remaining: 5 });
  const agent = await fleet.addAgent({ ENROLLMENT_KEY: blob });
  await agent.live();
  await fleet.reaches(agent, 'healthy');

  const registered = await toldOnce('edge.node.registered', { node_id: agent.node });
  const verified = await toldOnce('edge.enrollment_key.verified', { enrollment_key_id: id });
  const changed = await toldOnce('edge.node.status_changed', { node_id: agent.node });

  const {
    aliases: _aliases,
    enrollment_key_id: _key,
    status_since: _since,
    status_reason: _reason,
    status_evidence: _evidence,
    vpn_hostname: _hostname,
    id: node_id,
    ...fields
  } = await fleet.node(agent);
  t.deepEqual(registered.data, {
    node_id,
    ...fields,
    status: 'unreachable',
    last_seen_at: null,
    updated_at: fields.inserted_at,
  });
  t.is(registered.time, fields.inserted_at);
  t.deepEqual(verified.data, {
    enrollment_key_id: id,
    cluster_name: CLUSTER,
    name: 'dock 4',
    uses_remaining: 4,
    result: 'verified',
    verified_at: verified.time,
  });
  t.deepEqual(changed.data, { node_id, ...fields, previous_status: 'unreachable', last_seen_at: changed.time });
  t.is(changed.time, fields.updated_at);
});

test('an execution is told of from its creation to its result, without its output', async (t) => {
  const agent = await fleet.addAgent();
  await agent.live();
  await fleet.reaches(agent, 'healthy');
  const command = await fleet.run('echo canary-output; exit 3', { ...only(agent.node), timeout: 30_000 });
  await fleet.settled(command);

  const [created, sent, completed] = await Promise.all(
    (['created', 'sent', 'completed'] as const).map((happening) =>
      toldOnce(`edge.command_execution.${happening}`, { command_id: command.id }),
    ),
  );

  const [{ id, output: _output, output_truncated: _truncated, output_withheld: _withheld, ...stored } = { id: '' }] =
    await fleet.executionsOf(command);
  const data = { command_execution_id: id, ...stored };
  t.deepEqual(completed?.data, data as never);
  t.deepEqual(sent?.data, {
    ...data,
    status: 'sent',
    exit_code: null,
    completed_at: null,
    updated_at: sent?.time,
  } as never);
  t.deepEqual(created?.data, {
    ...data,
    status: 'pending',
    exit_code: null,
    sent_at: null,
    completed_at: null,
    updated_at: created?.time,
  } as never);
  t.deepEqual([created?.time, sent?.time, completed?.time], [
    created?.data['inserted_at'],
    sent?.data['sent_at'],
    completed?.data['completed_at'],
  ] as never);
  t.deepEqual(
    [completed?.data['exit_code'], completed?.data['timeout'], completed?.data['target_all']],
    [3, 30_000, false],
  );
  secrets.push('canary-output\n');
});

test('an execution is cancelled before it was sent, while it ran, and by the loss of its machine', async (t) => {
  const agent = await fleet.addAgent();
  await agent.live();
  await fleet.reaches(agent, 'healthy');
  const away = await raw();
  const never = await fleet.run('true', only(away.node_id));
  const running = await fleet.run('sleep 1000', only(agent.node));
  const [execution] = await fleet.settled(running, ([one]) => one?.status === 'sent');
  const lost = await fleet.run('sleep 1000', only(away.node_id));
  await fleet.rest.post(`/commands/${never.id}/cancel`);
  await fleet.rest.post(`/command_executions/${execution?.id ?? ''}/cancel`);
  const session = await greet(away);
  const { deliveries } = await session.frame('deliver');
  session.send({ type: 'acknowledge', executions: deliveries.map((delivery) => delivery.execution) });
  await told('edge.command_execution.sent', { command_id: lost.id });
  await greet(away);

  const [unsent, ended, gone] = await Promise.all(
    [never, running, lost].map(({ id }) => toldOnce('edge.command_execution.cancelled', { command_id: id })),
  );

  const shapes = [unsent, ended, gone].map((event) => [
    event?.data['exit_code'],
    event?.data['sent_at'] !== null,
    event?.data['cancelled_at'] === event?.time,
    event?.data['updated_at'] === event?.time,
  ]);
  t.deepEqual(shapes, [
    [143, false, true, true],
    [143, true, true, true],
    [137, true, true, true],
  ]);
});

test('an execution expires before it was sent, and while it runs', async (t) => {
  const agent = await fleet.addAgent();
  await agent.live();
  await fleet.reaches(agent, 'healthy');
  const away = await raw();
  const expired_at = new Date(Date.now() + 1_500).toISOString();
  const never = await fleet.run('true', { ...only(away.node_id), expired_at });
  const running = await fleet.run('sleep 1000', { ...only(agent.node), expired_at });

  const [unsent, ended] = await Promise.all(
    [never, running].map(({ id }) => toldOnce('edge.command_execution.expired', { command_id: id })),
  );

  t.deepEqual(
    [unsent, ended].map((event) => [
      event?.data['expired_at'],
      event?.data['sent_at'] !== null,
      event?.data['updated_at'] === event?.time,
    ]),
    [
      [expired_at, false, true],
      [expired_at, true, true],
    ],
  );
  t.true((unsent?.time ?? '') >= expired_at);
});

test('a finished execution that is pruned is told of as it was', async (t) => {
  const agent = await fleet.addAgent();
  await agent.live();
  await fleet.reaches(agent, 'healthy');
  const command = await fleet.run('exit 5', only(agent.node));
  await fleet.settled(command);
  const { data } = await toldOnce('edge.command_execution.completed', { command_id: command.id });
  await fleet.sql(`update command_execution set finished_at = finished_at - interval '31 days' where command_id = $1`, [
    command.id,
  ]);
  const beganMs = Date.now();

  await createSweeps(pool, {
    adminId: v7(),
    executionDays: 30,
    eventDays: 7,
    deliveryDays: 7,
    recordingDays: 30,
  }).prune(); // as the admin does each minute

  const pruned = await toldOnce('edge.command_execution.pruned', { command_id: command.id });
  t.deepEqual(pruned.data, data);
  t.true(Date.parse(pruned.time) >= beganMs && Date.parse(pruned.time) <= Date.now(), pruned.time);
});

test('an agent that comes back with another version is registered again, and what it was is told', async (t) => {
  const agent = await raw();
  await greet(agent);
  await told('edge.node.status_changed', { node_id: agent.node_id, status: 'healthy' });

  await greet(agent, { version: '0.0.2' });

  const again = await toldOnce('edge.node.reregistered', { node_id: agent.node_id });
  const changed = await toldOnce('edge.node.version_changed', { node_id: agent.node_id });
  t.deepEqual(changed.data, { ...again.data, previous_version: '0.0.1' });
  t.deepEqual(
    [again.data['version'], again.data['status'], again.data['updated_at'], again.data['last_seen_at'], changed.time],
    ['0.0.2', 'healthy', again.time, again.time, again.time],
  );
});

test('a node is unhealthy while a service is down, and unreachable when nothing is heard', async (t) => {
  const agent = await raw();
  const session = await greet(agent);
  session.send({ type: 'report', report: { services: [{ name: 'runner', healthy: false, detail: 'canary-detail' }] } });
  await told('edge.node.status_changed', { node_id: agent.node_id, status: 'unhealthy' });
  session.sendRaw('not a frame'); // cut
  await session.closed;

  const changes = await told('edge.node.status_changed', { node_id: agent.node_id }, 3);

  t.deepEqual(
    changes.map(({ data }) => [data['previous_status'], data['status']]),
    [
      ['unreachable', 'healthy'],
      ['healthy', 'unhealthy'],
      ['unhealthy', 'unreachable'],
    ],
  );
  t.true((changes[2]?.data['last_seen_at'] as string) < (changes[2]?.time ?? ''));
  t.deepEqual(
    changes.map(({ data }) => data['updated_at']),
    changes.map(({ time }) => time),
  );
});

test('a node that moves tells which cluster it was in', async (t) => {
  const agent = await raw();
  await greet(agent);
  await told('edge.node.status_changed', { node_id: agent.node_id, status: 'healthy' });
  await fleet.rest.post('/clusters', { name: 'elsewhere' });

  await fleet.rest.post(`/nodes/${agent.node_id}/change_cluster`, { cluster_name: 'elsewhere' });

  const moved = await toldOnce('edge.node.cluster_changed', { node_id: agent.node_id });
  t.like(moved.data, {
    cluster_name: 'elsewhere',
    previous_cluster_name: CLUSTER,
    status: 'healthy',
    last_seen_at: moved.time,
    updated_at: moved.time,
  });
});

test('each way to be turned away with a key is told of, with the key as it is left', async (t) => {
  const expired = await key({ name: 'old', uses_remaining: null });
  await fleet.rest.call('PATCH', `/enrollment_keys/${expired.id}`, {
    body: { expired_at: '2020-01-01T00:00:00.000Z' },
  });
  const spent = await key({ uses_remaining: 1 });
  await enrol(spent.key);
  await fleet.rest.post('/clusters', { name: 'full', node_limit: 1 });
  const full = await fleet.rest.post<EnrollmentKeyResource>('/clusters/full/enrollment_keys', { uses_remaining: 9 });
  secrets.push(full.key);
  await enrol(full.key);
  const unknown = Buffer.from(JSON.stringify({ admin_urls: [], cluster_name: CLUSTER, nonce: randomUUID() })).toString(
    'base64url',
  );
  secrets.push(unknown);

  for (const blob of [expired.key, spent.key, full.key, unknown]) t.is((await enrol(blob)).status, 403);

  const data = async (result: string, id: string | null) =>
    (await toldOnce('edge.enrollment_key.verified', { result, enrollment_key_id: id })).data;
  t.like(await data('key_expired', expired.id), { cluster_name: CLUSTER, name: 'old', uses_remaining: null });
  t.like(await data('key_spent', spent.id), { cluster_name: CLUSTER, name: null, uses_remaining: 0 });
  t.like(await data('node_limit_reached', full.id), { cluster_name: 'full', name: null, uses_remaining: 8 });
  t.like(await data('invalid_key', null), { cluster_name: null, name: null, uses_remaining: null });
});

test('a node whose answer was lost enrols again: its key was used again, and nothing was spent', async (t) => {
  const { id, key: blob } = await key({ uses_remaining: 2 });
  const node = randomUUID();

  for (let attempt = 0; attempt < 2; attempt += 1) t.is((await enrol(blob, node)).status, 201);

  const attempts = await told('edge.enrollment_key.verified', { enrollment_key_id: id }, 2);
  t.deepEqual(
    attempts.map(({ data }) => [data['result'], data['uses_remaining']]),
    [
      ['verified', 1],
      ['verified', 1],
    ],
  );
  t.is((await told('edge.node.registered', { node_id: node })).length, 1);
});

test('a login by SSH is told of with its username where there is one, and never with what was shown', async (t) => {
  const agent = await raw();
  const [sshKey, password, wrong] = [newKey(), 'ssh-password-canary-1', 'ssh-wrong-password-canary-1'];
  secrets.push(password, wrong, sshKey.blob, sshKey.fingerprint);
  const { id } = await fleet.rest.post<SshUsernameResource>(`/nodes/${agent.node_id}/ssh_usernames`, {
    username: 'ada',
    password,
    public_keys: [{ key_name: 'k', public_key: sshKey.line }],
  });
  const session = await agent.connect({ protocol: PROTOCOL_VERSION });
  const shown = [
    ['ada', { method: 'password', password }],
    ['ada', { method: 'password', password: wrong }],
    ['ada', { method: 'public_key', blob: sshKey.blob, signature: 'verified' }],
    ['eve', { method: 'password', password }],
  ] as const;

  for (const [index, [username, credential]] of shown.entries()) {
    session.send({ type: 'verify-ssh', attempt: index + 1, username, credential });
    await until('its verdict', () =>
      session.frames.some((frame) => frame.type === 'ssh-verdict' && frame.attempt === index + 1),
    );
  }

  const events = await told('edge.ssh_username.verified', { node_id: agent.node_id }, shown.length);
  const known = { ssh_username_id: id, node_id: agent.node_id, username: 'ada', cluster_name: CLUSTER };
  t.deepEqual(
    events.map(({ data, time }) => ({ ...data, verified_at: data['verified_at'] === time })),
    [
      { ...known, auth_method: 'password', result: 'success', verified_at: true },
      { ...known, auth_method: 'password', result: 'failure', verified_at: true },
      { ...known, auth_method: 'public_key', result: 'success', verified_at: true },
      {
        ...known,
        ssh_username_id: null,
        username: 'eve',
        cluster_name: null,
        auth_method: 'unknown',
        result: 'failure',
        verified_at: true,
      },
    ],
  );
});

test('a test event comes as it was answered', async (t) => {
  const answered = await fleet.rest.post<Envelope>('/events/test');

  const event = await toldOnce('edge.core.test', { requested_at: answered.time });

  t.deepEqual(event, answered);
  t.is(answered.corename, 'plant-7');
});

// Ava runs it beside the others, so it waits for what they bring about.
test('every type that is emitted was seen, and what is not emitted yet is only an example', async (t) => {
  const emitted = EVENT_TYPES.filter((type) => !NOT_EMITTED_YET.includes(type));
  await until('every type', () => emitted.every((type) => events.some((event) => event.type === type)), 60_000);

  t.log(`by example only, as nothing emits them yet: ${NOT_EMITTED_YET.join(', ')}`);
  t.deepEqual(
    events.filter(({ type }) => NOT_EMITTED_YET.includes(type)),
    [],
  );
});

test.after.always('all that was told is exact', (t) => {
  for (const event of events) {
    const parsed = envelopeOf(event.type).safeParse(event);
    t.true(parsed.success, `${event.type}: ${parsed.error?.message ?? ''}`);
    t.true(new CloudEvent(structuredClone(event) as never).validate());
  }
  t.is(new Set(events.map(({ id }) => id)).size, events.length);
  const text = JSON.stringify(events);
  for (const secret of [...secrets, 'canary-detail', ...secrets.map((one) => Buffer.from(one).toString('base64'))])
    t.false(text.includes(JSON.stringify(secret).slice(1, -1)), secret);
});
