/** A real agent with its session: what it runs and tells, and how it ends. */
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { CLOSE, DELETED_REASON } from '../../../transport/protocol/close-codes.ts';
import { AdminDouble } from '../../support/agent/admin-double.ts';
import { AgentFixture, logged, processesOf } from '../../support/agent/agent-fixture.ts';
import { until } from '../../support/until.ts';
import { column } from '../../support/database/columns.ts';

const CANCELLED = { outcome: 'cancelled', exit_code: 143 } as const;

test.serial(
  'a new agent enrols, says hello, runs a script and is rid of it once the result is confirmed',
  async (t) => {
    const { fixture, admin, session } = await AgentFixture.open(t);

    const execution = admin.deliver(session, 'echo out; echo err >&2; exit 3');

    t.like(await admin.result(execution), {
      outcome: 'completed',
      exit_code: 3,
      output: 'out\nerr\n',
      parts: 0,
      output_truncated: false,
    });
    t.deepEqual(column(session.of('acknowledge'), 'executions'), [[execution]]);
    t.is(session.authorization, 'Bearer token-of-the-node');
    t.deepEqual(await fixture.terminate(), { code: 0, signal: null });
  },
);

test.serial('an admin that is away is waited for, with one line an attempt and no stack', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t);
  await admin.close();
  await logged(fixture.agent, /The admin cannot be reached/);

  const back = await AdminDouble.start({}, admin.port);
  t.teardown(() => back.close());
  const again = await back.session();

  t.is(again.of('hello')[0]?.node, session.of('hello')[0]?.node);
  t.false(/\n\s+at /.test(fixture.agent.log));
});

test.serial('SIGTERM ends what runs as cancelled, reports it, and exits 0', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t);
  const execution = admin.deliver(session, 'echo begun; sleep 100');
  session.send({ type: 'tail', execution, offset: 0 });
  await admin.until('the output', () => session.of('tail-output').some((frame) => frame.text === 'begun\n'));

  const exit = fixture.terminate();

  t.like(await admin.result(execution), { ...CANCELLED, output: 'begun\n' });
  t.deepEqual([await exit, processesOf(execution)], [{ code: 0, signal: null }, []]);
});

test.serial('SIGTERM while no admin is there keeps the result for the next start', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t);
  const execution = await fixture.taken(session, 'sleep 100');
  admin.habits = { welcomes: false };
  session.terminate();
  await logged(fixture.agent, /The session ended/);

  t.deepEqual(await fixture.terminate(), { code: 0, signal: null });
  admin.habits = {};
  fixture.start();

  t.like(await admin.result(execution), CANCELLED);
});

test.serial('an agent whose node was deleted ends what runs and exits with a status of its own', async (t) => {
  const { fixture, session } = await AgentFixture.open(t);
  const execution = await fixture.taken(session, 'sleep 100');

  session.close(CLOSE.revoked, DELETED_REASON);

  t.deepEqual(await fixture.agent.ended(), { code: 4, signal: null });
  t.regex(fixture.agent.log, /revoked this node/);
  t.deepEqual(processesOf(execution), []);
});

test.serial('an output of a mebibyte arrives in parts, exactly', async (t) => {
  const { admin, session } = await AgentFixture.open(t);

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
  const { fixture, admin, session } = await AgentFixture.open(t);
  const execution = admin.deliver(session, `printf 'é\\377one '; ${fixture.waiting()}; echo two`);
  const text = (current = session) =>
    current
      .of('tail-output')
      .map((frame) => frame.text)
      .join('');
  session.send({ type: 'tail', execution, offset: 0 });
  await admin.until('the first half', () => text() === 'é\uFFFDone ');

  session.terminate();
  const again = await admin.session(1);
  again.send({ type: 'tail', execution, offset: 5 });
  await admin.until('the first half again', () => text(again) === 'one ');
  fixture.letGo();
  const end = await admin.until('the end', () => again.of('tail-output').find((frame) => frame.end));

  t.is(text(again), 'one two\n');
  t.is(end.offset, 13);
  t.is((await admin.result(execution)).output, 'é\uFFFDone two\n');
});

test.serial('new settings go to the disk, and the next start uses their admins', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t);
  const other = await AdminDouble.start();
  t.teardown(() => other.close());

  session.send({ type: 'settings', settings: { ...admin.settings(), admin_urls: [other.url] } });
  await until('the settings are on the disk', () => fixture.identity().includes(other.url));
  await fixture.kill();
  fixture.start();

  await t.notThrowsAsync(other.session());
});

test.serial('no secret reaches a script, its processes, the log or the directory of executions', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(
    t,
    {},
    { LOG_LEVEL: 'debug', RECOVERY_KEY: '6f2c6a52-8d2b-4a3e-9f54-0d6c1f3f7a01.canary-recovery' },
  );

  const execution = admin.deliver(
    session,
    'cat /proc/self/environ /proc/$PPID/environ /proc/$PPID/cmdline; ps -eo args | grep -e agent -e keeper; ls -lR $(dirname $0)',
  );
  const { output } = await admin.result(execution);

  const secrets = [fixture.settings['ENROLLMENT_KEY'] ?? '', 'token-of-the-node', 'proxy-password', 'canary-recovery'];
  for (const secret of secrets) {
    t.false(output.includes(secret), `${secret} in a script`);
    t.false(fixture.agent.log.includes(secret), `${secret} in the log`);
  }
});

test.serial('leave ends what runs and removes all that the agent kept', async (t) => {
  const { fixture, session } = await AgentFixture.open(t);
  const execution = await fixture.taken(session, 'sleep 100');
  await fixture.kill();
  for (const name of ['ssh-pipes', 'ssh-recordings']) mkdirSync(join(fixture.dataDirectory, name), { recursive: true }); // of sessions that it had

  const leaving = fixture.start({}, ['leave']);

  t.deepEqual(await leaving.ended(), { code: 0, signal: null });
  t.deepEqual(readdirSync(fixture.dataDirectory), []);
  t.deepEqual(processesOf(execution), []);
});

test.serial(
  'an admin beyond loopback that is named by http:// is warned of once at each start, enrolled or not',
  async (t) => {
    const fixture = await AgentFixture.prepare(t);
    const logs: string[] = [];

    for (const beyond of [',http://192.0.2.1:44000/path', ',http://192.0.2.1:44000/path', ',https://192.0.2.1']) {
      const agent = fixture.start({ ADMIN_URLS: `${fixture.admin.url}${beyond}` });
      await fixture.admin.session(logs.length);
      await fixture.terminate();
      logs.push(agent.log);
    }

    t.deepEqual(
      logs.map((log) => log.split('is not encrypted').length - 1),
      [1, 1, 0],
    );
    t.regex(
      logs[0] ?? '',
      /What goes to admins is not encrypted, the key and the token of this node among it: http:\/\/192\.0\.2\.1:44000\. Put TLS/u,
    );
  },
);
