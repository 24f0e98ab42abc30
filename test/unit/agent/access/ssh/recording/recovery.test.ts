/** Recordings that a killed agent left open: which are finished, which wait, and which are removed. */
import { mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { RECOVERY_RETRY_MS, RecordingRecovery } from '../../../../../../agent/access/ssh/recording/recovery.ts';
import { RecordingSpool, type RecordingSidecar } from '../../../../../../agent/access/ssh/recording/spool.ts';
import { createFakeClock } from '../../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../../support/log.ts';
import { fill, smallDisk } from '../../../../../support/small-disk.ts';
import { temporaryDirectory } from '../../../../../support/temporary-directory.ts';
import { column } from '../../../../../support/database/columns.ts';

const CAST = '{"version":2,"width":80,"height":24}\n[0.5,"o","one"]\n[1.25,"o","two"]\n';

const NOT_FINISHED = 'A recording of an SSH session was not finished; it is tried again';
const REMOVED = 'A recording of an SSH session is damaged beyond repair and was removed';

const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

const SIDECAR = {
  ssh_username_id: idOf(99),
  username: 'alice',
  started_at_ms: 1_000,
  duration_ms: 0,
  width: 80,
  height: 24,
  command: null,
  truncated: true,
};

/** Leaves a recording in the directory as an agent does that is killed in the middle of a line. */
function leaveOpen(directory: string, id: string, text: Buffer | null = gzipSync(`${CAST}[2,"o","thr`)): void {
  writeFileSync(join(directory, `${id}.open.json`), JSON.stringify({ ...SIDECAR, id }));
  if (text !== null) writeFileSync(join(directory, `${id}.open.gz`), text);
}

/** What an agent does with the directory when it starts. */
function startIn(t: ExecutionContext, directory: string) {
  const [clock, log] = [createFakeClock(), recordingLog()];
  const spool = new RecordingSpool(directory);
  const recovery = new RecordingRecovery({ spool, clock, log });
  t.teardown(() => recovery.close());
  return { spool, recovery, clock, log };
}

const shown = (directory: string, id: string) => gunzipSync(readFileSync(join(directory, `${id}.cast.gz`))).toString();

test('a recording stays while the disk is full, and is finished when there is room', async (t) => {
  const disk = smallDisk(t, 256);
  if (disk === null) {
    t.log('not tried: this user cannot mount a disk');
    t.pass();
    return;
  }
  leaveOpen(disk, idOf(1));
  const before = readFileSync(join(disk, `${idOf(1)}.open.gz`));
  const free = fill(disk);

  const { spool, recovery, clock, log } = startIn(t, disk);
  await recovery.round;
  const whileFull = {
    text: readFileSync(join(disk, `${idOf(1)}.open.gz`)),
    files: readdirSync(disk).filter((name) => name.includes('.open.')).length,
    finished: spool.list(),
  };
  clock.pass(RECOVERY_RETRY_MS);
  await recovery.round;
  free();
  clock.pass(RECOVERY_RETRY_MS);
  await recovery.round;

  t.deepEqual(whileFull.text, before);
  t.like(whileFull, { files: 3, finished: [] }, 'the new text was begun beside the old one');
  t.like(spool.list(), [{ id: idOf(1), duration_ms: 1_250, truncated: true }]);
  t.is(shown(disk, idOf(1)), CAST);
  t.deepEqual(log.lines, [
    { level: 'warn', fields: { recording: idOf(1), problem: 'the disk is full' }, message: NOT_FINISHED },
  ]);
  t.is(clock.waiting(), 0);
});

test('a full disk is tried again and again, and keeps nothing of it, nor of recordings that were not begun', async (t) => {
  const disk = smallDisk(t, 64);
  if (disk === null) {
    t.log('not tried: this user cannot mount a disk');
    t.pass();
    return;
  }
  const { spool, recovery, clock } = startIn(t, disk);
  await recovery.round;
  const free = fill(disk);

  for (const number of [1, 2]) t.is(spool.begin({ ...SIDECAR, id: idOf(number) }), null);
  for (let tries = 0; tries < 3; tries += 1) {
    clock.pass(RECOVERY_RETRY_MS);
    await recovery.round;
    t.is(spool.problem, 'SSH sessions are not recorded: the disk is full');
  }

  t.deepEqual(readdirSync(disk), ['filler']);
  free();
  clock.pass(RECOVERY_RETRY_MS);
  await recovery.round;
  t.deepEqual([spool.problem, readdirSync(disk)], [null, []]);
});

test('a recording that cannot be read now is tried at the next start, and keeps no other back', async (t) => {
  const directory = temporaryDirectory(t);
  for (const number of [1, 2]) leaveOpen(directory, idOf(number));
  const [text, kept] = [join(directory, `${idOf(1)}.open.gz`), join(directory, 'kept')];
  writeFileSync(kept, readFileSync(text));
  rmSync(text);
  symlinkSync('/proc/self/mem', text); // its first byte is an I/O error

  const first = startIn(t, directory);
  await first.recovery.round;
  await first.recovery.close();
  rmSync(text);
  writeFileSync(text, readFileSync(kept));
  const second = startIn(t, directory);
  await second.recovery.round;

  t.deepEqual(column(first.spool.list(), 'id'), [idOf(2)]);
  t.deepEqual(first.log.lines, [
    {
      level: 'warn',
      fields: { recording: idOf(1), problem: 'EIO: i/o error, read' },
      message: NOT_FINISHED,
    },
  ]);
  t.is(first.clock.waiting(), 0, 'one that is closed tries nothing more');
  t.deepEqual(
    second.spool
      .list()
      .map(({ id }) => id)
      .toSorted(),
    [idOf(1), idOf(2)],
  );
  t.is(shown(directory, idOf(1)), CAST);
  t.deepEqual(second.log.lines, []);
});

test('a recording of which nothing can be made is removed, with a line in the log', async (t) => {
  const directory = temporaryDirectory(t);
  leaveOpen(directory, idOf(1), Buffer.alloc(1_000, 7));
  leaveOpen(directory, idOf(2), gzipSync('no line'));
  leaveOpen(directory, idOf(3), null);
  leaveOpen(directory, idOf(4));
  writeFileSync(join(directory, `${idOf(4)}.open.json`), '{"id"');

  const { spool, recovery, clock, log } = startIn(t, directory);
  await recovery.round;

  t.deepEqual(
    log.lines.map(({ fields, message }) => [fields, message]),
    [
      [{ recording: idOf(1), problem: 'what it shows is damaged' }, REMOVED],
      [{ recording: idOf(2), problem: 'nothing of it was written' }, REMOVED],
      [{ recording: idOf(3), problem: 'nothing of it was written' }, REMOVED],
      [{ recording: idOf(4), problem: 'its description is damaged' }, REMOVED],
    ],
  );
  t.deepEqual(readdirSync(directory), []);
  t.deepEqual([spool.list(), clock.waiting()], [[], 0]);
});

test('a recording whose agent was killed while it finished it is there once, with its text', async (t) => {
  const directory = temporaryDirectory(t);
  const sidecarOf = (id: string) => readFileSync(join(directory, `${id}.open.json`), 'utf8');
  for (const number of [1, 2]) leaveOpen(directory, idOf(number));
  // the description was stored, the text was not renamed
  writeFileSync(join(directory, `${idOf(1)}.json`), sidecarOf(idOf(1)));
  writeFileSync(join(directory, `${idOf(1)}.open.gz.new`), 'half');
  // both were, and the open description was not removed
  writeFileSync(join(directory, `${idOf(2)}.json`), sidecarOf(idOf(2)));
  rmSync(join(directory, `${idOf(2)}.open.gz`));
  writeFileSync(join(directory, `${idOf(2)}.cast.gz`), gzipSync(CAST));

  const { spool, recovery, log } = startIn(t, directory);
  await recovery.round;

  t.deepEqual(
    spool
      .list()
      .map(({ id }) => id)
      .toSorted(),
    [idOf(1), idOf(2)],
  );
  t.deepEqual([shown(directory, idOf(1)), shown(directory, idOf(2))], [CAST, CAST]);
  t.deepEqual(
    readdirSync(directory).toSorted(),
    [1, 2].flatMap((number) => [`${idOf(number)}.cast.gz`, `${idOf(number)}.json`]),
  );
  t.deepEqual(log.lines, []);
});

test('what was removed as damaged leaves its room to others', async (t) => {
  const directory = join(temporaryDirectory(t), 'spool');
  mkdirSync(directory);
  leaveOpen(directory, idOf(1), Buffer.alloc(2_000, 7));
  const spool = new RecordingSpool(directory, 1_000);
  const whileThere = spool.problem;

  await new RecordingRecovery({ spool, clock: createFakeClock(), log: recordingLog() }).round;

  t.regex(whileThere ?? '', /recordings wait for an admin/u);
  t.is(spool.problem, null);
});

/** A recording of this agent itself, whose session is over. `text`: what came to the disk; null: nothing did. */
async function endedIn(t: ExecutionContext, text: Buffer | null, isTruncated: boolean) {
  const directory = temporaryDirectory(t);
  const agent = startIn(t, directory);
  await agent.recovery.round;
  leaveOpen(directory, idOf(1), text);
  const sidecar = JSON.parse(readFileSync(join(directory, `${idOf(1)}.open.json`), 'utf8')) as RecordingSidecar;
  const blocked = join(directory, `${idOf(1)}.json.new`);
  mkdirSync(blocked);
  agent.spool.finish({ ...sidecar, duration_ms: 7_000, truncated: isTruncated });
  const later = async (isFree: boolean) => {
    if (isFree) rmSync(blocked, { recursive: true });
    agent.clock.pass(RECOVERY_RETRY_MS);
    await agent.recovery.round;
    return agent.spool.list();
  };
  return { ...agent, directory, later };
}

test('a recording that the disk did not take at its end is finished later, with all that it shows', async (t) => {
  const whole = await endedIn(t, gzipSync(CAST), false);
  t.regex(whole.spool.problem ?? '', /^SSH sessions are not recorded: /u);
  t.deepEqual([await whole.later(false), whole.clock.waiting()], [[], 1]);
  t.like(await whole.later(true), [{ id: idOf(1), duration_ms: 7_000, truncated: false }]);
  t.is(shown(whole.directory, idOf(1)), CAST);

  const cut = await endedIn(t, gzipSync(CAST).subarray(0, -10), true);
  t.like(await cut.later(true), [{ id: idOf(1), truncated: true }]);

  for (const { spool, directory, clock } of [whole, cut])
    t.deepEqual(
      [spool.problem, readdirSync(directory), clock.waiting()],
      [null, [`${idOf(1)}.cast.gz`, `${idOf(1)}.json`], 0],
    );
});

test('one of which nothing came to the disk is no trouble for ever', async (t) => {
  const { spool, directory, clock, later } = await endedIn(t, null, true);
  t.not(spool.problem, null);

  await later(true);

  t.deepEqual([spool.problem, spool.list(), readdirSync(directory), clock.waiting()], [null, [], [], 0]);
});

test('a disk that took no new recording is looked at again although nobody logs in', async (t) => {
  const directory = join(temporaryDirectory(t), 'spool');
  const { spool, recovery, clock } = startIn(t, directory);
  await recovery.round;
  rmSync(directory, { recursive: true });
  writeFileSync(directory, '');
  const later = async () => {
    clock.pass(RECOVERY_RETRY_MS);
    await recovery.round;
    return spool.problem;
  };

  t.is(spool.begin({ ...SIDECAR, id: idOf(1) }), null);
  t.not(await later(), null);
  rmSync(directory);
  t.is(await later(), null);
  t.deepEqual([readdirSync(directory), clock.waiting()], [[], 0]);
});
