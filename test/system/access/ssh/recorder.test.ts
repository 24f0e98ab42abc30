/** Recordings of sessions on the agent's disk: what is in them, and when they end. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import type { ExecutionContext } from 'ava';
import { beginRecording } from '../../../../agent/access/ssh/recording/recorder.ts';
import { RecordingRecovery } from '../../../../agent/access/ssh/recording/recovery.ts';
import { RecordingSpool } from '../../../../agent/access/ssh/recording/spool.ts';
import type { SshRecordingSettings } from '../../../../transport/protocol/ssh.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { silentLog } from '../../../support/log.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';
import { startSshFixture, withAlice } from '../../../support/agent/ssh-fixture.ts';

const spoolFile = join(import.meta.dirname, '../../../../agent/access/ssh/recording/spool.ts');
const recorderFile = join(import.meta.dirname, '../../../../agent/access/ssh/recording/recorder.ts');

const test = await peerTest('ssh', 'ssh-keygen');

const ALL: SshRecordingSettings = { mode: 'all', bytes_max: 1_000_000, ms_max: 60_000 };
const SHELL = {
  usernameId: '00000000-0000-4000-8000-000000000001',
  username: 'alice',
  command: null,
  shell: '/bin/sh',
  terminal: { term: 'xterm', columns: 90, rows: 30 },
};

const directory = (t: ExecutionContext): string => join(temporaryDirectory(t), 'spool');

/** Header and events of the only recording, times left out. */
function recorded(path: string): { header: Record<string, unknown>; events: unknown[] } {
  const [name = ''] = readdirSync(path).filter((file) => file.endsWith('.cast.gz'));
  const [header, ...events] = gunzipSync(readFileSync(join(path, name)))
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  return { header: header as Record<string, unknown>, events: (events as unknown[][]).map((event) => event.slice(1)) };
}

async function finished(spool: RecordingSpool) {
  return until('it is finished', () => spool.list()[0]);
}

test('a session with a terminal is recorded as asciicast 2: what was shown and its sizes, not what was typed', async (t) => {
  const path = directory(t);
  const spool = new RecordingSpool(path);
  const { fixture, words } = await withAlice(t, { recording: { spool, settings: () => ({ ...ALL, mode: 'pty' }) } });

  await fixture.ssh([...words, 'echo not this']);
  await fixture.ssh(['-tt', ...words, 'stty -echo; echo shown; read secret; echo "got ${#secret}"'], 'hunter2\n', {
    TERM: 'xterm',
  });
  const [entry, ...others] = [await finished(spool), ...spool.list().slice(1)];
  const { header, events } = recorded(path);

  t.deepEqual(others, []);
  t.like(entry, {
    username: 'alice',
    ssh_username_id: fixture.users.get('alice')?.id ?? '',
    width: 80,
    height: 24,
    truncated: false,
    command: 'stty -echo; echo shown; read secret; echo "got ${#secret}"',
  });
  t.is(entry.bytes, statSync(join(path, `${entry.id}.cast.gz`)).size);
  t.like(header, { version: 2, width: 80, height: 24, env: { TERM: 'xterm', SHELL: '/bin/bash' } });
  t.regex(events.map((event) => (event as string[])[1]).join(''), /^(?:hunter2\r\n)?shown\r\ngot 7\r\n$/u);
  t.is(statSync(path).mode & 0o777, 0o700);
  for (const file of readdirSync(path)) t.is(statSync(join(path, file)).mode & 0o777, 0o600, file);
});

test('a code point that was cut in two is one in the recording, and a new size is an event', async (t) => {
  const path = directory(t);
  const spool = new RecordingSpool(path);
  const recorder = beginRecording({ spool, settings: () => ALL }, SHELL);
  const euro = Buffer.from('€');

  recorder?.output('out', euro.subarray(0, 1));
  recorder?.resized(100, 40);
  recorder?.output('out', Buffer.concat([euro.subarray(1), Buffer.from('!')]));
  recorder?.end();
  await finished(spool);

  t.deepEqual(recorded(path).events, [
    ['r', '100x40'],
    ['o', '€!'],
  ]);
});

test('a recording ends at its limits, and says that it did', async (t) => {
  const [long, late] = [directory(t), directory(t)];
  const spools = [new RecordingSpool(long), new RecordingSpool(late)] as const;
  const one = beginRecording({ spool: spools[0], settings: () => ({ ...ALL, bytes_max: 1_024 }) }, SHELL);
  const two = beginRecording({ spool: spools[1], settings: () => ({ ...ALL, ms_max: -1 }) }, SHELL);

  for (const recorder of [one, two]) {
    recorder?.output('out', Buffer.from(`${'x'.repeat(1_023)}€ and more`));
    recorder?.output('out', Buffer.from('nothing of this'));
    recorder?.end();
  }
  const ends = [await finished(spools[0]), await finished(spools[1])];

  t.deepEqual(
    ends.map((entry) => entry.truncated),
    [true, true],
  );
  const { events } = recorded(long) as { events: string[][] };
  t.is(events.length, 1);
  t.regex(events[0]?.[1] ?? '', /^x{800,1023}$/u);
  t.deepEqual(recorded(late).events, []);
});

test('a recording of a session that goes on in silence lasts no longer than its limit', async (t) => {
  const spool = new RecordingSpool(directory(t));
  const recorder = beginRecording({ spool, settings: () => ({ ...ALL, ms_max: 1_000 }) }, SHELL);
  const beganMs = performance.now();

  await until('its limit to be past', () => performance.now() - beganMs > 1_001);
  recorder?.end();

  t.like(await finished(spool), { duration_ms: 1_000, truncated: false });
});

test('nothing is recorded that was not asked for, nor without room, which health then says', async (t) => {
  const spool = new RecordingSpool(directory(t), 100);
  const settings = (mode: SshRecordingSettings['mode']) => () => ({ ...ALL, mode });

  t.is(beginRecording({ spool, settings: settings('off') }, SHELL), null);
  t.is(beginRecording({ spool, settings: settings('pty') }, { ...SHELL, terminal: null }), null);
  const first = beginRecording({ spool, settings: settings('all') }, { ...SHELL, terminal: null });
  first?.output('out', Buffer.from(Array.from({ length: 500 }, (_, index) => index).join(' ')));
  first?.end();
  const entry = await finished(spool);

  t.is(beginRecording({ spool, settings: settings('all') }, SHELL), null);
  t.regex(spool.problem ?? '', /recordings wait for an admin/u);
  spool.remove(entry.id);
  t.is(spool.problem, null);
  t.deepEqual(spool.list(), []);
});

test('a server whose sessions cannot be recorded is in trouble as long as they are to be', async (t) => {
  let mode: SshRecordingSettings['mode'] = 'all';
  const spool = new RecordingSpool(directory(t), 0);
  const { server } = await startSshFixture(t, { recording: { spool, settings: () => ({ ...ALL, mode }) } });

  t.regex(server.problem ?? '', /recordings wait for an admin/u);
  mode = 'off';
  t.is(server.problem, null);
});

test('the recording of an agent that was killed is finished by the next one, as far as it came', async (t) => {
  const path = directory(t);
  const program = `
    import { RecordingSpool } from ${JSON.stringify(spoolFile)};
    import { beginRecording } from ${JSON.stringify(recorderFile)};
    const recorder = beginRecording({ spool: new RecordingSpool('${path}'), settings: () => (${JSON.stringify(ALL)}) }, ${JSON.stringify(SHELL)});
    recorder.output('out', Buffer.from('before the end'));
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 6_000);
  `;
  await promisify(execFile)(process.execPath, ['--input-type=module-typescript', '-e', program]).catch(() => {});
  const [open = ''] = readdirSync(path).filter((name) => name.endsWith('.open.gz'));
  truncateSync(join(path, open), statSync(join(path, open)).size - 1);

  const spool = new RecordingSpool(path);
  await new RecordingRecovery({ spool, clock: createFakeClock(), log: silentLog }).round;
  const [entry] = spool.list();
  const [stream] = entry === undefined ? [] : [spool.read(entry.id)];

  t.like(entry, { username: 'alice', truncated: true });
  t.is(recorded(path).header['version'], 2);
  t.deepEqual(readdirSync(path).length, 2);
  if (stream !== undefined) await once(stream.resume(), 'end');
});
