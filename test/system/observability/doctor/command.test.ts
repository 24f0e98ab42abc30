/** `edge-agent doctor` as a user of the machine who is not the agent's. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { PID_FILE } from '../../../../agent/data-directory.ts';
import { origin } from '../../../support/net/listening.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const PROGRAM = resolve(import.meta.dirname, '../../../../cli/edge-agent.ts');

/** nobody; root may read and write everything. */
const STRANGER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Runs it, without anything in its environment but the data directory. */
function doctor(
  data: string,
  more: NodeJS.ProcessEnv = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return new Promise((done) => {
    execFile(
      process.execPath,
      [PROGRAM, 'doctor'],
      { ...STRANGER, cwd: '/', env: { AGENT_DATA_DIR: data, ...more } },
      (_error, stdout, stderr) => done({ stdout, stderr }),
    );
  });
}

test('a data directory that this user may not make is told of before the agent fails to start there', async (t) => {
  const root = temporaryDirectory(t, 0o555);

  const { stdout } = await doctor(join(root, 'not', 'there'));

  t.regex(
    stdout,
    /FAIL +disk +The data directory of the agent is not there, and this user may not make it\. .*\n +-> Run this as the user of the agent, or set AGENT_DATA_DIR/u,
  );
});

test('an identity of another user is one line that says what to do', async (t) => {
  const root = temporaryDirectory(t, 0o755);
  mkdirSync(join(root, 'data'), { mode: 0o755 });
  writeFileSync(join(root, 'data', 'identity.json'), '{}', { mode: 0o000 });

  const { stdout, stderr } = await doctor(join(root, 'data'));

  t.is(stdout, '');
  t.regex(stderr, /^edge-agent: The identity \S+ cannot be read: no permission; run this as the user of the agent\n$/u);
});

test('an agent that runs and that nobody lets in is told as that, with who answers in the place of its admin', async (t) => {
  const portal = await origin(t, (_request, response) => response.writeHead(302, { location: '/login' }).end());
  const data = temporaryDirectory(t, 0o755);
  writeFileSync(join(data, PID_FILE), String(process.pid), { mode: 0o644 });

  const { stdout } = await doctor(data, { ADMIN_URLS: portal });

  t.regex(stdout, /FAIL +agent +The agent of this machine runs \(process \d+\) and has not been let in yet\./u);
  t.regex(stdout, /FAIL +admins +.* it answered with status 302, which is no answer of an admin\./u);
});
