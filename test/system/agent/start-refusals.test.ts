/** Why an agent does not start, in one line; and the words that it takes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { AgentFixture } from '../../support/agent/agent-fixture.ts';
import { AgentProcess } from '../../support/agent/agent-process.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

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
  test.serial(`${name} is told in one line, with exit status 2`, async (t) => {
    const agent = AgentProcess.start(t, { AGENT_DATA_DIR: join(temporaryDirectory(t), 'data'), ...settings });

    t.deepEqual(await agent.ended(), { code: 2, signal: null });

    t.regex(agent.log, pattern);
    t.is(agent.log.trim().split('\n').length, 1);
    t.false(agent.log.includes('secret-nonsense'));
  });
}

test.serial('a second agent on the same directory stops with a line that names the first', async (t) => {
  const { fixture } = await AgentFixture.open(t);
  const { pid } = fixture.agent.child;

  const second = fixture.start({ LOG_LEVEL: 'silent' });

  t.deepEqual(await second.ended(), { code: 1, signal: null });
  t.is(
    second.log,
    `edge-agent: AGENT_DATA_DIR ${fixture.dataDirectory} is in use by another agent (process ${pid}): stop it, or give this one a directory of its own\n`,
  );
});

test.serial('a directory that cannot be used stops the agent with one line', async (t) => {
  const fixture = await AgentFixture.prepare(t);
  writeFileSync(join(fixture.directory, 'file'), '');

  const agent = fixture.start({ AGENT_DATA_DIR: join(fixture.directory, 'file/data') });

  t.deepEqual(await agent.ended(), { code: 1, signal: null });
  t.regex(agent.log, /^edge-agent: AGENT_DATA_DIR .* cannot be used: a file is in the way\n$/);
});

test.serial('a damaged identity stops the agent rather than make a second node of the machine', async (t) => {
  const fixture = await AgentFixture.prepare(t);
  mkdirSync(fixture.dataDirectory);
  writeFileSync(join(fixture.dataDirectory, 'identity.json'), '{"node_id":"');

  const agent = fixture.start();

  t.deepEqual(await agent.ended(), { code: 1, signal: null });
  t.regex(agent.log, /^edge-agent: The identity .* is damaged/);
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
      return { ...(await agent.ended()), out, err: agent.log };
    };

    const [help, version, wrong] = await Promise.all([run(['--help']), run(['--version']), run(['upp'])]);

    t.true(
      ['ENROLLMENT_KEY', 'RECOVERY_KEY', 'ADMIN_URLS', 'AGENT_DATA_DIR', 'COMMAND_OUTPUT_MAX_BYTES', 'LOG_LEVEL'].every(
        (name) => help.out.includes(name),
      ),
    );
    t.regex(version.out, /^\d+\.\d+\.\d+\n$/);
    t.like(wrong, { code: 2, out: '' });
    t.regex(wrong.err, /^edge-agent: upp is not a command: did you mean edge-agent up\?/);
  },
);
