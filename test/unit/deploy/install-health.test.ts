/** What `install.sh` says of an agent that runs and is not healthy, by the words of its own log. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { enroll } from '../../../agent/enrollment/enroll.ts';
import { createLog } from '../../../agent/log.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SCRIPT = resolve(import.meta.dirname, '../../../deploy/install/health.sh');

/** The end of the script, whose agent has written this log and has this `state`, after its time is over. */
function saidOf(t: ExecutionContext, log: string, state: string): string {
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'current/runtime'), { recursive: true });
  symlinkSync(process.execPath, join(directory, 'current/runtime/node'));
  const said = spawnSync(
    'sh',
    [
      '-c',
      `. "$1"
      is_real() { :; }
      how_it_is() { echo "$STATE_NOW"; }
      why_ended() { :; }
      log_end() { cat; }
      fail() { echo "$1"; exit 1; }
      wait_until_healthy`,
      'sh',
      SCRIPT,
    ],
    {
      encoding: 'utf8',
      input: log,
      env: {
        PATH: process.env['PATH'],
        STATE: directory,
        STATE_NOW: state,
        BEGAN: '0',
        DOWNLOAD_S: '0',
        NEEDS_PROGRAMS: 'no',
        is_key_given: 'no',
        IS_KEY_WRITTEN: 'no',
      },
    },
  );
  t.is(said.stderr, '');
  return said.stdout.trim();
}

/** What the log says of an agent that two answers keep out, with another line behind. */
async function keptOut(): Promise<string> {
  let log = 'no JSON\n';
  const lines = createLog('info', false, (line) => (log += line));
  const answers = [503, 404];
  const enrolling = enroll({
    request: {} as Parameters<typeof enroll>[0]['request'],
    adminUrls: ['https://admin.example.com'],
    log: lines,
    random: () => 0,
    post: async () => ({ status: answers.shift() ?? 0, body: '<html lang="en">' }),
    sleep: async () => {
      if (answers.length === 0) throw new Error('it is told to stop');
    },
  });
  await enrolling.catch((error: Error) => lines.info({}, error.message));
  return log;
}

test('an agent that is not let in is told with what came of its last try', async (t) => {
  const log = await keptOut();

  t.is(
    saidOf(t, log, ''),
    'The agent runs and is not healthy after 60 s: it has not enrolled: https://admin.example.com: it answered 404, which is no answer of an admin: check ADMIN_URLS.',
  );
  t.is(saidOf(t, '', ''), 'The agent runs and is not healthy after 60 s: it has not enrolled.');
  t.is(
    saidOf(t, log, 'unwell the disk is full'),
    'The agent runs and is not healthy after 60 s: the disk is full.',
    'one that is in says what it lacks',
  );
});
