import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { listProcesses } from '../../../agent/execution/processes.ts';
import { CLOSE } from '../../../transport/protocol/close-codes.ts';
import { ExecutionId } from '../../../transport/protocol/ids.ts';
import { until } from '../../support/until.ts';
import { AdminDouble } from '../../support/agent/admin-double.ts';
import type { DoubleHabits } from '../../support/agent/admin-double.ts';
import { AgentProcess } from '../../support/agent/agent-process.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

async function adminAndSettings(t: ExecutionContext, habits: DoubleHabits = {}) {
  const admin = await AdminDouble.start(habits);
  t.teardown(() => admin.close());
  const directory = temporaryDirectory(t);
  return { admin, directory, settings: { ENROLLMENT_KEY: admin.key(), AGENT_DATA_DIR: join(directory, 'data') } };
}

async function fleetOfOne(t: ExecutionContext, habits: DoubleHabits = {}, environment: Record<string, string> = {}) {
  const { admin, directory, settings } = await adminAndSettings(t, habits);
  const agent = AgentProcess.start(t, { ...settings, ...environment });
  return { admin, agent, directory, settings: { ...settings, ...environment }, session: await admin.session() };
}

/** Waits for a line of its log. */
async function logged(agent: AgentProcess, pattern: RegExp): Promise<void> {
  await until(`a line of the log like ${pattern.source}`, () => pattern.test(agent.log));
}

/** What the agent with these settings knows of itself, as its disk has it. */
const identityAt = (settings: { readonly AGENT_DATA_DIR: string }): string =>
  readFileSync(join(settings.AGENT_DATA_DIR, 'identity.json'), 'utf8');

/** Kills an agent whose first try to enrol was answered with 500, and has the next one of its machine enrol. */
async function killedWhileEnrolling(t: ExecutionContext): Promise<AdminDouble> {
  const { admin, settings } = await adminAndSettings(t, { enrolls: () => ({ status: 500, body: {} }) });
  const first = AgentProcess.start(t, settings);
  await admin.until('an attempt', () => admin.enrollments.length > 0);
  first.kill();
  await first.exited;
  admin.habits = {};

  AgentProcess.start(t, settings);
  await admin.session();
  return admin;
}

test.serial(
  'a new agent enrols, says hello, runs a script and is rid of it once the result is confirmed',
  async (t) => {
    const { admin, agent, session } = await fleetOfOne(t);

    const execution = admin.deliver(session, 'echo out; echo err >&2; exit 3');

    t.like(await admin.result(execution), {
      outcome: 'completed',
      exit_code: 3,
      output: 'out\nerr\n',
      parts: 0,
      output_truncated: false,
    });
    t.deepEqual(
      session.of('acknowledge').map((frame) => frame.executions),
      [[execution]],
    );
    t.is(session.authorization, 'Bearer token-of-the-node');
    agent.terminate();
    t.deepEqual(await agent.exited, { code: 0, signal: null });
  },
);

test.serial('it enrols once, keeps what it got to itself, and needs no key from then on', async (t) => {
  const { admin, agent, settings, session } = await fleetOfOne(
    t,
    {},
    { AGENT_ALIASES: 'web-1,web', AGENT_API_PORT: '44321', AGENT_SSH_PORT: '2222' },
  );
  t.like(admin.enrollments[0], {
    enrollment_key: settings.ENROLLMENT_KEY,
    id_type: 'persistent',
    aliases: ['web-1', 'web'],
    self_update_enabled: false,
    ports: { http_port: 44_321, ssh_port: 2_222 },
  });
  agent.terminate();
  await agent.exited;

  AgentProcess.start(t, { AGENT_DATA_DIR: settings.AGENT_DATA_DIR });
  const again = await admin.session(1);

  t.is(admin.enrollments.length, 1);
  t.is(again.of('hello')[0]?.node, session.of('hello')[0]?.node);
  t.is(statSync(settings.AGENT_DATA_DIR).mode & 0o777, 0o700);
  for (const file of readdirSync(settings.AGENT_DATA_DIR).filter((name) =>
    statSync(join(settings.AGENT_DATA_DIR, name)).isFile(),
  )) {
    t.is(statSync(join(settings.AGENT_DATA_DIR, file)).mode & 0o077, 0, file);
  }
});

test.serial('after a lost answer it enrols again with the same node id', async (t) => {
  const { admin, settings } = await adminAndSettings(t);
  admin.habits = {
    enrolls: (body, attempt) =>
      attempt === 1 ? 'drop' : attempt === 2 ? { status: 503, body: {} } : { status: 201, body: admin.enrolled(body) },
  };

  AgentProcess.start(t, settings);
  await admin.session();

  t.is(admin.enrollments.length, 3);
  t.is(new Set(admin.enrollments.map((body) => body['node_id'])).size, 1);
});

test.serial('an agent killed while enrolling asks with the same node id again', async (t) => {
  const admin = await killedWhileEnrolling(t);

  t.is(new Set(admin.enrollments.map((body) => body['node_id'])).size, 1);
});

for (const [status, code, pattern] of [
  [403, 'invalid_key', /ENROLLMENT_KEY is not known/],
  [403, 'key_expired', /ENROLLMENT_KEY has expired/],
  [403, 'key_spent', /no uses left/],
  [403, 'node_limit_reached', /node limit/],
  [409, 'conflict', /conflict: bad/],
  [422, 'validation_failed', /validation_failed: bad/],
  [404, 'not_found', /not_found/],
] as const) {
  test.serial(`an enrolment refused with ${status} ${code} ends the agent with one clear line`, async (t) => {
    const { settings } = await adminAndSettings(t, {
      enrolls: () => ({ status, body: { error: { code, message: 'bad', details: null }, meta: {} } }),
    });
    const agent = AgentProcess.start(t, { ...settings, LOG_LEVEL: 'silent' });

    t.deepEqual(await agent.exited, { code: 3, signal: null });

    t.regex(agent.log, pattern);
    t.regex(agent.log, /^edge-agent: [^\n]+\n$/);
    t.false(agent.log.includes(settings.ENROLLMENT_KEY));
  });
}

test.serial(
  'each try carries the same secret of the machine, which a start after an enrolment that let nobody in finds again',
  async (t) => {
    const admin = await killedWhileEnrolling(t);

    const secrets = new Set(admin.enrollments.map((body) => body['machine_secret']));
    t.is(secrets.size, 1);
    t.regex(String([...secrets][0]), /^[\w-]{43}$/u);
  },
);

test.serial('a recovery key that is set after a first start without it brings the identity of its node', async (t) => {
  const { admin, settings } = await adminAndSettings(t, {
    enrolls: () => ({ status: 403, body: { error: { code: 'key_spent', message: 'm', details: null }, meta: {} } }),
  });
  const node = '6f2c6a52-8d2b-4a3e-9f54-0d6c1f3f7a01';
  await AgentProcess.start(t, settings).exited;
  admin.habits = {};

  AgentProcess.start(t, { ...settings, RECOVERY_KEY: `${node}.secret-of-the-key` });
  const session = await admin.session();

  t.like(admin.enrollments.at(-1), { node_id: node, recovery_key: `${node}.secret-of-the-key` });
  t.is(session.of('hello')[0]?.node as string, node);
});

test.serial(
  'unknown to the admin for good, it joins again with its key under its id, and what runs goes on',
  async (t) => {
    const { admin, agent, directory, session, settings } = await fleetOfOne(t);
    const execution = admin.deliver(session, `while [ ! -e ${directory}/go ]; do sleep 0.02; done; echo through`);
    await admin.until('the acknowledgement', () => session.of('acknowledge').length === 1);
    admin.habits = {
      refuses: 401,
      enrolls: (body) => {
        admin.habits = {};
        return { status: 201, body: admin.enrolled(body, 'token-of-the-second-time') };
      },
    };
    session.terminate();

    const again = await admin.session(1);
    writeFileSync(join(directory, 'go'), '');

    t.is(again.authorization, 'Bearer token-of-the-second-time');
    t.is(again.of('hello')[0]?.node, session.of('hello')[0]?.node);
    t.deepEqual(again.of('hello')[0]?.holding, [execution]);
    t.deepEqual(
      admin.enrollments.map((body) => [body['enrollment_key'], body['node_id'], body['machine_secret']]),
      Array.from({ length: 2 }, () => [
        settings.ENROLLMENT_KEY,
        session.of('hello')[0]?.node,
        admin.enrollments[0]?.['machine_secret'],
      ]),
    );
    t.like(await admin.result(execution), { outcome: 'completed', exit_code: 0, output: 'through\n' });
    agent.terminate();
    t.deepEqual(await agent.exited, { code: 0, signal: null });
  },
);

test.serial(
  'told that its node was deleted it does not join again, also after a restart, and is known again where the deletion is undone',
  async (t) => {
    const { admin, agent, session, settings } = await fleetOfOne(t);
    admin.habits = { refuses: 401, saysDeleted: true };
    session.terminate();
    await logged(agent, /This node was deleted at the admin/);
    agent.terminate();
    await agent.exited;
    admin.habits = { refuses: 401 };

    const second = AgentProcess.start(t, settings);
    await logged(second, /does not know this node: its database/);
    t.is(admin.enrollments.length, 1, 'the deletion is not undone by a database of before');
    second.terminate();
    await second.exited;
    admin.habits = {};
    AgentProcess.start(t, settings);

    await admin.session(1);
    await until('it knows that it is not deleted', () => !identityAt(settings).includes('"was_deleted": true'));
    t.is(admin.enrollments.length, 1);
  },
);

test.serial('a recovery key gives a machine that lost its data the id of its old node', async (t) => {
  const { admin, settings } = await adminAndSettings(t);
  const node = '6f2c6a52-8d2b-4a3e-9f54-0d6c1f3f7a01';

  AgentProcess.start(t, { ...settings, RECOVERY_KEY: `${node}.secret-of-the-key` });
  const session = await admin.session();

  t.like(admin.enrollments[0], { node_id: node, recovery_key: `${node}.secret-of-the-key` });
  t.is(session.of('hello')[0]?.node as string, node);
});

for (const [name, settings, pattern] of [
  ['no key', {}, /^edge-agent: ENROLLMENT_KEY is not set/],
  [
    'a key that is none',
    { ENROLLMENT_KEY: 'secret-nonsense' },
    /^edge-agent: ENROLLMENT_KEY holds a value of 15 characters that does not fit: it should be/,
  ],
  [
    'a port out of range',
    { AGENT_SSH_PORT: '70000' },
    /^edge-agent: AGENT_SSH_PORT is "70000": it should be a whole number from 0 to 65535/,
  ],
  [
    "an output limit over the protocol's",
    { COMMAND_OUTPUT_MAX_BYTES: '16777217' },
    /^edge-agent: COMMAND_OUTPUT_MAX_BYTES is "16777217": it should be a whole number from 1024 to 16777216/,
  ],
  ['admins that are no URLs', { ADMIN_URLS: 'ftp://x' }, /^edge-agent: ADMIN_URLS is "ftp:\/\/x": it should be/],
] as const) {
  test.serial(`${name}: one line and exit status 2`, async (t) => {
    const agent = AgentProcess.start(t, { AGENT_DATA_DIR: join(temporaryDirectory(t), 'data'), ...settings });

    t.deepEqual(await agent.exited, { code: 2, signal: null });

    t.regex(agent.log, pattern);
    t.is(agent.log.trim().split('\n').length, 1);
    t.false(agent.log.includes('secret-nonsense'));
  });
}

test.serial('a second agent on the same directory stops with a line that names the first', async (t) => {
  const { agent, settings } = await fleetOfOne(t);

  const second = AgentProcess.start(t, { ...settings, LOG_LEVEL: 'silent' });

  t.deepEqual(await second.exited, { code: 1, signal: null });
  t.is(
    second.log,
    `edge-agent: AGENT_DATA_DIR ${settings.AGENT_DATA_DIR} is in use by another agent (process ${agent.child.pid}): stop it, or give this one a directory of its own\n`,
  );
});

test.serial('a directory that cannot be used stops the agent with one line', async (t) => {
  const { directory, settings } = await adminAndSettings(t);
  writeFileSync(join(directory, 'file'), '');

  const agent = AgentProcess.start(t, { ...settings, AGENT_DATA_DIR: join(directory, 'file/data') });

  t.deepEqual(await agent.exited, { code: 1, signal: null });
  t.regex(agent.log, /^edge-agent: AGENT_DATA_DIR .* cannot be used: a file is in the way\n$/);
});

test.serial('a damaged identity stops the agent rather than make a second node of the machine', async (t) => {
  const { settings } = await adminAndSettings(t);
  mkdirSync(settings.AGENT_DATA_DIR);
  writeFileSync(join(settings.AGENT_DATA_DIR, 'identity.json'), '{"node_id":"');

  const agent = AgentProcess.start(t, settings);

  t.deepEqual(await agent.exited, { code: 1, signal: null });
  t.regex(agent.log, /^edge-agent: The identity .* is damaged/);
});

test.serial('an admin that is away is waited for, with one line an attempt and no stack', async (t) => {
  const { admin, agent, session } = await fleetOfOne(t);
  const { port } = admin;
  await admin.close();
  await logged(agent, /The admin cannot be reached/);

  const back = await AdminDouble.start({}, port);
  t.teardown(() => back.close());
  const again = await back.session();

  t.is(again.of('hello')[0]?.node, session.of('hello')[0]?.node);
  t.false(/\n\s+at /.test(agent.log));
});

test.serial('SIGTERM ends what runs as cancelled, reports it, and exits 0', async (t) => {
  const { admin, agent, session } = await fleetOfOne(t);
  const execution = admin.deliver(session, 'echo begun; sleep 100');
  session.send({ type: 'tail', execution, offset: 0 });
  await admin.until('the output', () => session.of('tail-output').some((frame) => frame.text === 'begun\n'));

  agent.terminate();

  t.like(await admin.result(execution), { outcome: 'cancelled', exit_code: 143, output: 'begun\n' });
  t.deepEqual(await agent.exited, { code: 0, signal: null });
  t.deepEqual(
    listProcesses().filter((entry) => entry.environment.includes(execution)),
    [],
  );
});

test.serial('SIGTERM while no admin is there keeps the result for the next start', async (t) => {
  const { admin, agent, session, settings } = await fleetOfOne(t);
  const execution = admin.deliver(session, 'sleep 100');
  await admin.until('the acknowledgement', () => session.of('acknowledge').length === 1);
  admin.habits = { welcomes: false };
  session.terminate();
  await logged(agent, /The session ended/);

  agent.terminate();
  t.deepEqual(await agent.exited, { code: 0, signal: null });
  admin.habits = {};
  AgentProcess.start(t, settings);

  t.like(await admin.result(execution), { outcome: 'cancelled', exit_code: 143 });
});

test.serial('revoked, it ends what runs and exits with a status of its own', async (t) => {
  const { admin, agent, session } = await fleetOfOne(t);
  const execution = admin.deliver(session, 'sleep 100');
  await admin.until('the acknowledgement', () => session.of('acknowledge').length === 1);

  session.close(CLOSE.revoked, 'node deleted');

  t.deepEqual(await agent.exited, { code: 4, signal: null });
  t.regex(agent.log, /revoked this node/);
  t.deepEqual(
    listProcesses().filter((entry) => entry.environment.includes(execution)),
    [],
  );
});

test.serial('an admin that refuses the token is told of, and tried again', async (t) => {
  const { admin, agent, session } = await fleetOfOne(t);
  admin.habits = {
    refuses: 401,
    enrolls: () => ({
      status: 409,
      body: { error: { code: 'conflict', message: 'not yours', details: null }, meta: {} },
    }),
  };

  session.terminate();
  await logged(agent, /could not join again with its ENROLLMENT_KEY: conflict: not yours/);

  t.is(agent.child.exitCode, null);
  t.false(agent.log.includes('token-of-the-node'));
});

test.serial('an output of a mebibyte arrives in parts, exactly', async (t) => {
  const { admin, session } = await fleetOfOne(t);

  const execution = admin.deliver(
    session,
    'i=0; while [ $i -lt 20000 ]; do echo "line $i of a long output, with é and 🚀"; i=$((i+1)); done',
  );
  const result = await admin.result(execution);

  t.like(result, { exit_code: 0, output_truncated: false });
  t.true(result.parts > 10);
  t.is(
    result.output,
    Array.from({ length: 20_000 }, (_, index) => `line ${index} of a long output, with é and 🚀\n`).join(''),
  );
});

test.serial('a tail gives the output as it grows, from any offset, and its end', async (t) => {
  const { admin, directory, session } = await fleetOfOne(t);
  const text = (execution: ExecutionId, current = session) =>
    current
      .of('tail-output')
      .filter((frame) => frame.execution === execution)
      .map((frame) => frame.text)
      .join('');
  const execution = admin.deliver(
    session,
    `printf 'é\\377one '; while [ ! -e ${directory}/go ]; do sleep 0.02; done; echo two`,
  );
  session.send({ type: 'tail', execution, offset: 0 });
  await admin.until('the first half', () => text(execution) === 'é\uFFFDone ');

  session.terminate();
  const again = await admin.session(1);
  again.send({ type: 'tail', execution, offset: 5 });
  await admin.until('the first half again', () => text(execution, again) === 'one ');
  writeFileSync(join(directory, 'go'), '');
  const end = await admin.until('the end', () => again.of('tail-output').find((frame) => frame.end));

  t.is(text(execution, again), 'one two\n');
  t.is(end.offset, 13);
  t.is((await admin.result(execution)).output, 'é\uFFFDone two\n');
});

test.serial('new settings go to the disk, and the next start uses their admins', async (t) => {
  const { admin, agent, settings, session } = await fleetOfOne(t);
  const other = await AdminDouble.start();
  t.teardown(() => other.close());

  session.send({ type: 'settings', settings: { ...admin.settings(), admin_urls: [other.url] } });
  await until('the settings are on the disk', () => identityAt(settings).includes(other.url));
  agent.kill();
  await agent.exited;
  AgentProcess.start(t, settings);

  await t.notThrowsAsync(other.session());
});

test.serial('no secret reaches a script, its processes, the log or the directory of executions', async (t) => {
  const { admin, agent, settings, session } = await fleetOfOne(
    t,
    {},
    { LOG_LEVEL: 'debug', RECOVERY_KEY: '6f2c6a52-8d2b-4a3e-9f54-0d6c1f3f7a01.canary-recovery' },
  );

  const execution = admin.deliver(
    session,
    'cat /proc/self/environ /proc/$PPID/environ /proc/$PPID/cmdline; ps -eo args | grep -e agent -e keeper; ls -lR $(dirname $0)',
  );
  const { output } = await admin.result(execution);

  for (const secret of [settings.ENROLLMENT_KEY, 'token-of-the-node', 'proxy-password', 'canary-recovery']) {
    t.false(output.includes(secret), `${secret} in a script`);
    t.false(agent.log.includes(secret), `${secret} in the log`);
  }
});

test.serial('leave ends what runs and removes all that the agent kept', async (t) => {
  const { admin, agent, settings, session } = await fleetOfOne(t);
  const execution = admin.deliver(session, 'sleep 100');
  await admin.until('the acknowledgement', () => session.of('acknowledge').length === 1);
  agent.kill();
  await agent.exited;
  for (const name of ['ssh-pipes', 'ssh-recordings'])
    mkdirSync(join(settings.AGENT_DATA_DIR, name), { recursive: true }); // of sessions that it had

  const leaving = AgentProcess.start(t, settings, ['leave']);

  t.deepEqual(await leaving.exited, { code: 0, signal: null });
  t.deepEqual(readdirSync(settings.AGENT_DATA_DIR), ['lock']);
  t.deepEqual(
    listProcesses().filter((entry) => entry.environment.includes(execution)),
    [],
  );
});

test.serial('with AGENT_ID_TYPE=random every start is a new node', async (t) => {
  const { admin, agent, settings, session } = await fleetOfOne(t, {}, { AGENT_ID_TYPE: 'random' });
  agent.kill();
  await agent.exited;

  AgentProcess.start(t, settings);

  t.not((await admin.session(1)).of('hello')[0]?.node, session.of('hello')[0]?.node);
});

test.serial(
  'help lists every setting, the version is that of the package, and a wrong word is a usage error',
  async (t) => {
    const run = async (words: string[]) => {
      const agent = AgentProcess.start(t, {}, words);
      let out = '';
      agent.child.stdout?.on('data', (piece: Buffer) => {
        out += piece.toString('utf8');
      });
      return { ...(await agent.exited), out, err: agent.log };
    };

    const [help, version, wrong] = await Promise.all([run(['--help']), run(['--version']), run(['upp'])]);

    t.true(
      ['ENROLLMENT_KEY', 'RECOVERY_KEY', 'ADMIN_URLS', 'AGENT_DATA_DIR', 'COMMAND_OUTPUT_MAX_BYTES', 'LOG_LEVEL'].every(
        (name) => help.out.includes(name),
      ),
    );
    t.regex(version.out, /^\d+\.\d+\.\d+\n$/);
    t.like(wrong, { code: 2, out: '' });
    t.regex(wrong.err, /^edge-agent: upp is not a command: it should be one of up, leave/);
  },
);
