/** What is told of nodes, of the keys with which they enrol, and of logins there. */
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { SshUsernameResource } from '../../../actors/resources/ssh.ts';
import { PROTOCOL_VERSION } from '../../../transport/protocol/version.ts';
import { CLUSTER } from '../../support/fleet.ts';
import { enrollment } from '../../support/fleet/raw-agent.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';
import { until } from '../../support/until.ts';
import type { EventsFixture } from './fixture.ts';

/** Without what an agent may tell anew at any time: free ports that it picked, and that others took before it. */
function withoutPorts(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).filter(([field]) => !field.endsWith('_port')));
}

/** Declares the tests. */
export function declareNodeEvents(fixture: EventsFixture): void {
  const enrol = (enrollmentKey: string, node: string = randomUUID()) =>
    settledAnswer(() => fixture.fleet.rest.call('POST', '/agents/enroll', { body: enrollment(enrollmentKey, node) }));

  test('an agent that joins is told of by its key, as registered, and as healthy', async (t) => {
    const { id, key: blob } = await fixture.key({ name: 'dock 4', uses_remaining: 5 });
    const agent = await fixture.healthyAgent(blob);

    const registered = await fixture.toldOnce('edge.node.registered', { node_id: agent.node });
    const verified = await fixture.toldOnce('edge.enrollment_key.verified', { enrollment_key_id: id });
    const changed = await fixture.toldOnce('edge.node.status_changed', { node_id: agent.node });

    const {
      aliases: _aliases,
      enrollment_key_id: _key,
      status_since: _since,
      status_reason: _reason,
      status_evidence: _evidence,
      vpn_hostname: _hostname,
      id: node_id,
      ...fields
    } = await fixture.fleet.node(agent);
    t.deepEqual(withoutPorts(registered.data), {
      node_id,
      ...withoutPorts(fields),
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
    t.deepEqual(withoutPorts(changed.data), {
      node_id,
      ...withoutPorts(fields),
      previous_status: 'unreachable',
      last_seen_at: changed.time,
    });
    t.is(changed.time, fields.updated_at);
  });

  test('an agent that comes back with another version is registered again, and what it was is told', async (t) => {
    const agent = await fixture.raw();
    await fixture.greet(agent);
    await fixture.told('edge.node.status_changed', { node_id: agent.node_id, status: 'healthy' });

    await fixture.greet(agent, { version: '0.0.2' });

    const again = await fixture.toldOnce('edge.node.reregistered', { node_id: agent.node_id });
    const changed = await fixture.toldOnce('edge.node.version_changed', { node_id: agent.node_id });
    t.deepEqual(changed.data, { ...again.data, previous_version: '0.0.1' });
    t.deepEqual(
      [again.data['version'], again.data['status'], again.data['updated_at'], again.data['last_seen_at'], changed.time],
      ['0.0.2', 'healthy', again.time, again.time, again.time],
    );
  });

  test('a node is unhealthy while a service is down, and unreachable when nothing is heard', async (t) => {
    const agent = await fixture.raw();
    const session = await fixture.greet(agent);
    session.send({
      type: 'report',
      report: { services: [{ name: 'runner', healthy: false, detail: 'canary-detail' }] },
    });
    await fixture.told('edge.node.status_changed', { node_id: agent.node_id, status: 'unhealthy' });
    session.sendRaw('not a frame'); // cut
    await session.closed;

    const changes = await fixture.told('edge.node.status_changed', { node_id: agent.node_id }, 3);

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
    const agent = await fixture.raw();
    await fixture.greet(agent);
    await fixture.told('edge.node.status_changed', { node_id: agent.node_id, status: 'healthy' });
    await fixture.fleet.rest.post('/clusters', { name: 'elsewhere' });

    await fixture.fleet.rest.post(`/nodes/${agent.node_id}/change_cluster`, { cluster_name: 'elsewhere' });

    const moved = await fixture.toldOnce('edge.node.cluster_changed', { node_id: agent.node_id });
    t.like(moved.data, {
      cluster_name: 'elsewhere',
      previous_cluster_name: CLUSTER,
      status: 'healthy',
      last_seen_at: moved.time,
      updated_at: moved.time,
    });
  });

  test('each way to be turned away with a key is told of, with the key as it is left', async (t) => {
    const expired = await fixture.key({ name: 'old', uses_remaining: null });
    const past = { body: { expired_at: '2020-01-01T00:00:00.000Z' } };
    await settledAnswer(() => fixture.fleet.rest.call('PATCH', `/enrollment_keys/${expired.id}`, past));
    const spent = await fixture.key({ uses_remaining: 1 });
    await enrol(spent.key);
    await fixture.fleet.rest.post('/clusters', { name: 'full', node_limit: 1 });
    const full = await fixture.fleet.rest.post<EnrollmentKeyResource>('/clusters/full/enrollment_keys', {
      uses_remaining: 9,
    });
    fixture.secrets.push(full.key);
    await enrol(full.key);
    const unknown = Buffer.from(
      JSON.stringify({ admin_urls: [], cluster_name: CLUSTER, nonce: randomUUID() }),
    ).toString('base64url');
    fixture.secrets.push(unknown);

    const machine = randomUUID();
    // one that waits at a full cluster asks again and again, and is told of once
    for (const blob of [expired.key, spent.key, full.key, full.key, unknown])
      t.is((await enrol(blob, machine)).status, 403);

    const data = async (result: string, id: string | null) =>
      (await fixture.toldOnce('edge.enrollment_key.verified', { result, enrollment_key_id: id })).data;
    t.like(await data('key_expired', expired.id), { cluster_name: CLUSTER, name: 'old', uses_remaining: null });
    t.like(await data('key_spent', spent.id), { cluster_name: CLUSTER, name: null, uses_remaining: 0 });
    t.like(await data('node_limit_reached', full.id), { cluster_name: 'full', name: null, uses_remaining: 8 });
    t.like(await data('invalid_key', null), { cluster_name: null, name: null, uses_remaining: null });
    t.is(
      fixture.events.filter(({ data: { enrollment_key_id: key, result } }) => key === full.id && result !== 'verified')
        .length,
      1,
    );
  });

  test('a node whose answer was lost enrols again: its key was used again, and nothing was spent', async (t) => {
    const { id, key: blob } = await fixture.key({ uses_remaining: 2 });
    const node = randomUUID();

    // A 503 of an admin whose lease ran out on a busy machine did nothing.
    for (const which of ['first', 'second'])
      await until(`the ${which} enrolment`, async () => {
        const { status, text } = await enrol(blob, node);
        if (status !== 201) throw new Error(`${status}: ${text}`);
        return true;
      });

    const attempts = await fixture.told('edge.enrollment_key.verified', { enrollment_key_id: id }, 2);
    t.deepEqual(
      attempts.map(({ data }) => [data['result'], data['uses_remaining']]),
      [
        ['verified', 1],
        ['verified', 1],
      ],
    );
    t.is((await fixture.told('edge.node.registered', { node_id: node })).length, 1);
  });

  test('a login by SSH is told of with its username where there is one, and never with what was shown', async (t) => {
    const agent = await fixture.raw();
    const [sshKey, password, wrong] = [newKey(), 'ssh-password-canary-1', 'ssh-wrong-password-canary-1'];
    fixture.secrets.push(password, wrong, sshKey.blob, sshKey.fingerprint);
    const { id } = await fixture.fleet.rest.post<SshUsernameResource>(`/nodes/${agent.node_id}/ssh_usernames`, {
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

    const events = await fixture.told('edge.ssh_username.verified', { node_id: agent.node_id }, shown.length);
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
}
