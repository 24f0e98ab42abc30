/** How an agent becomes a node, stays the same one, and becomes one again. */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { FITS_NO_NODE } from '../../../transport/protocol/enrollment.ts';
import { AgentFixture, logged, refusal } from '../../support/agent/agent-fixture.ts';
import { AgentProcess } from '../../support/agent/agent-process.ts';
import { until } from '../../support/until.ts';

const NODE = '6f2c6a52-8d2b-4a3e-9f54-0d6c1f3f7a01';

test.serial('it enrols once, keeps what it got to itself, and needs no key from then on', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(
    t,
    {},
    { AGENT_ALIASES: 'web-1,web', AGENT_API_PORT: '44321', AGENT_SSH_PORT: '2222' },
  );
  t.like(admin.enrollments[0], {
    enrollment_key: fixture.settings['ENROLLMENT_KEY'],
    id_type: 'persistent',
    aliases: ['web-1', 'web'],
    self_update_enabled: false,
    ports: { http_port: 44_321, ssh_port: 2_222 },
  });
  await fixture.terminate();

  AgentProcess.start(t, { AGENT_DATA_DIR: fixture.dataDirectory });
  const again = await admin.session(1);

  t.is(admin.enrollments.length, 1);
  t.is(again.of('hello')[0]?.node, session.of('hello')[0]?.node);
  t.is(statSync(fixture.dataDirectory).mode & 0o777, 0o700);
  for (const file of readdirSync(fixture.dataDirectory).map((name) => join(fixture.dataDirectory, name))) {
    // what the agent writes anew may be gone by now
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats?.isFile() === true) t.is(stats.mode & 0o077, 0, file);
  }
});

test.serial('after a lost answer it enrols again with the same node id', async (t) => {
  const fixture = await AgentFixture.prepare(t);
  const { admin } = fixture;
  admin.habits = {
    enrolls: (body, attempt) =>
      attempt === 1 ? 'drop' : attempt === 2 ? { status: 503, body: {} } : { status: 201, body: admin.enrolled(body) },
  };

  fixture.start();
  await admin.session();

  t.is(admin.enrollments.length, 3);
  t.is(new Set(admin.enrollments.map((body) => body['node_id'])).size, 1);
});

test.serial(
  'an agent that is killed while enrolling asks again with the same node id and the same secret of the machine',
  async (t) => {
    const fixture = await AgentFixture.prepare(t, { enrolls: () => ({ status: 500, body: {} }) });
    const { admin } = fixture;
    fixture.start();
    await admin.until('an attempt', () => admin.enrollments.length > 0);
    await fixture.kill();
    admin.habits = {};

    fixture.start();
    await admin.session();

    t.is(new Set(admin.enrollments.map((body) => body['node_id'])).size, 1);
    const secrets = new Set(admin.enrollments.map((body) => body['machine_secret']));
    t.is(secrets.size, 1);
    t.regex(String([...secrets][0]), /^[\w-]{43}$/u);
  },
);

for (const [status, code, pattern] of [
  [403, 'invalid_key', /ENROLLMENT_KEY is not known/],
  [403, 'key_expired', /ENROLLMENT_KEY has expired/],
  [403, 'key_spent', /no uses left/],
  [409, 'conflict', /conflict: bad/],
  [422, 'validation_failed', /validation_failed: bad/],
  [404, 'not_found', /not_found/],
] as const) {
  test.serial(`an enrolment refused with ${status} ${code} ends the agent with one clear line`, async (t) => {
    const fixture = await AgentFixture.prepare(t, { enrolls: () => refusal(status, code) });
    const agent = fixture.start({ LOG_LEVEL: 'silent' });

    t.deepEqual(await agent.ended(), { code: 3, signal: null });

    t.regex(agent.log, pattern);
    t.regex(agent.log, /^edge-agent: [^\n]+\n$/);
    t.false(agent.log.includes(fixture.settings['ENROLLMENT_KEY'] ?? ''));
  });
}

for (const [machine, isRefusedFirst] of [
  ['a machine that lost its data', false],
  ['a machine whose first start, without it, was refused,', true],
] as const) {
  test.serial(`a recovery key gives ${machine} the id of its old node`, async (t) => {
    const fixture = await AgentFixture.prepare(t, { enrolls: () => refusal(403, 'key_spent') });
    if (isRefusedFirst) await fixture.start().ended();
    fixture.admin.habits = {};

    fixture.start({ RECOVERY_KEY: `${NODE}.secret-of-the-key` });
    const session = await fixture.admin.session();

    t.like(fixture.admin.enrollments.at(-1), { node_id: NODE, recovery_key: `${NODE}.secret-of-the-key` });
    t.is(session.of('hello')[0]?.node as string, NODE);
  });
}

test.serial(
  'unknown to the admin for good, it joins again with its key under its id, and what runs goes on',
  async (t) => {
    const { fixture, admin, session } = await AgentFixture.open(t);
    const execution = await fixture.taken(session, `${fixture.waiting()}; echo through`);
    admin.habits = {
      refuses: 401,
      enrolls: (body) => {
        admin.habits = {};
        return { status: 201, body: admin.enrolled(body, 'token-of-the-second-time') };
      },
    };
    session.terminate();

    const again = await admin.session(1);
    fixture.letGo();

    const [hello] = again.of('hello');
    t.is(again.authorization, 'Bearer token-of-the-second-time');
    t.is(hello?.node, session.of('hello')[0]?.node);
    t.deepEqual(hello?.holding, [execution]);
    const asked = [fixture.settings['ENROLLMENT_KEY'], hello?.node, admin.enrollments[0]?.['machine_secret']];
    t.deepEqual(
      admin.enrollments.map((body) => [body['enrollment_key'], body['node_id'], body['machine_secret']]),
      [asked, asked],
    );
    t.like(await admin.result(execution), { outcome: 'completed', exit_code: 0, output: 'through\n' });
    t.deepEqual(await fixture.terminate(), { code: 0, signal: null });
  },
);

test.serial(
  'an agent drops the recovery key of a node that the database lost to join again, but not to enrol first',
  async (t) => {
    const recoveryKey = `${NODE}.secret-of-the-key`;
    const { fixture, admin, session } = await AgentFixture.open(t, {}, { RECOVERY_KEY: recoveryKey });
    admin.habits = {
      refuses: 401,
      enrolls: (body) => {
        if (body['recovery_key'] != null) return refusal(409, 'conflict', FITS_NO_NODE);
        admin.habits = {};
        return { status: 201, body: admin.enrolled(body, 'token-of-the-second-time') };
      },
    };
    session.terminate();

    const again = await admin.session(1);

    t.is(again.authorization, 'Bearer token-of-the-second-time');
    t.deepEqual(
      admin.enrollments.map((body) => [body['node_id'], body['recovery_key'] ?? null]),
      [
        [NODE, recoveryKey],
        [NODE, recoveryKey],
        [NODE, null],
      ],
    );
    await fixture.terminate();
    rmSync(fixture.dataDirectory, { recursive: true });
    admin.habits = { enrolls: () => refusal(409, 'conflict', FITS_NO_NODE) };
    t.deepEqual(await fixture.start().ended(), { code: 3, signal: null });
    t.is(admin.enrollments.length, 4);
  },
);

test.serial(
  'the agent of a deleted node does not rejoin, even after a restart, and connects once the deletion is undone',
  async (t) => {
    const { fixture, admin, session } = await AgentFixture.open(t);
    admin.habits = { refuses: 401, saysDeleted: true };
    session.terminate();
    await logged(fixture.agent, /This node was deleted at the admin/);
    await fixture.terminate();
    admin.habits = { refuses: 401 };

    await logged(fixture.start(), /does not know this node: its database/);
    t.is(admin.enrollments.length, 1, 'the deletion is not undone by a database of before');
    await fixture.terminate();
    admin.habits = {};
    fixture.start();

    await admin.session(1);
    await until('it knows that it is not deleted', () => !fixture.identity().includes('"was_deleted": true'));
    t.is(admin.enrollments.length, 1);
  },
);

test.serial('an admin that refuses the token is told of, and tried again', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t);
  admin.habits = { refuses: 401, enrolls: () => refusal(409, 'conflict', 'not yours') };

  session.terminate();
  await logged(fixture.agent, /could not join again with its ENROLLMENT_KEY: conflict: not yours/);

  t.is(fixture.agent.child.exitCode, null);
  t.false(fixture.agent.log.includes('token-of-the-node'));
});

test.serial('a node that no admin knows and that has no key to join again with says so', async (t) => {
  const { fixture, admin } = await AgentFixture.open(t);
  await fixture.terminate();
  admin.habits = { refuses: 401 };

  await logged(fixture.start({ ENROLLMENT_KEY: '' }), /No admin knows this node, and it has no ENROLLMENT_KEY/);

  t.is(admin.enrollments.length, 1);
});

test.serial('with AGENT_ID_TYPE=random every start is a new node', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t, {}, { AGENT_ID_TYPE: 'random' });
  await fixture.kill();

  fixture.start();

  t.not((await admin.session(1)).of('hello')[0]?.node, session.of('hello')[0]?.node);
});
