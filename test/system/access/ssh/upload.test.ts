/** Recordings on their way from an agent's disk to an admin: real admins that are killed, and answers that are lost. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import type { SshRecordingResource } from '../../../../actors/resources/ssh.ts';
import type { SessionClock } from '../../../../agent/session/ports.ts';
import { reconnectDelayMs } from '../../../../agent/session/backoff.ts';
import { beginRecording } from '../../../../agent/access/ssh/recording/recorder.ts';
import { RecordingSpool } from '../../../../agent/access/ssh/recording/spool.ts';
import { RecordingUploads, type UploadOptions } from '../../../../agent/access/ssh/recording/upload.ts';
import { RECORDING_SLACK_BYTES, RECORDING_TEXT_BYTES_MAX } from '../../../../transport/protocol/recording.ts';
import { castOf } from '../../../support/ssh/casts.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { enrollRaw } from '../../../support/fleet/raw-agent.ts';
import { settledAnswer } from '../../../support/fleet/rest.ts';
import { sharedFleet } from '../../../support/shared-fleet.ts';
import { listening, origin } from '../../../support/net/listening.ts';
import { silentLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const USER = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d02';
const BYTES_MAX = 65_536;

const fleet = sharedFleet(test, { env: { SSH_RECORDING_MAX_BYTES: String(BYTES_MAX) } });

/** Waits that take a fiftieth of their time. */
const hurried: Pick<SessionClock, 'after'> = {
  after(ms, act) {
    const timer = setTimeout(act, ms / 50);
    return () => clearTimeout(timer);
  },
};

/** Records a session that shows these texts, and waits until it is finished. Answers its id. */
async function record(
  spool: RecordingSpool,
  texts: readonly (string | Buffer)[],
  bytesMax = 1_048_576,
  command: string | null = null,
): Promise<string> {
  const known = new Set(spool.list().map(({ id }) => id));
  const recorder = beginRecording(
    { spool, settings: () => ({ mode: 'all', bytes_max: bytesMax, ms_max: 60_000 }) },
    {
      usernameId: USER,
      username: 'ada',
      command,
      shell: '/bin/sh',
      terminal: { term: 'xterm', columns: 100, rows: 30 },
    },
  );
  for (const text of texts) recorder?.output('out', Buffer.from(text));
  recorder?.resized(120, 40);
  recorder?.end();
  return until('the end of a recording', () => spool.list().find(({ id }) => !known.has(id))?.id);
}

function startUploads(
  t: ExecutionContext,
  spool: UploadOptions['spool'],
  token: string,
  more: Partial<UploadOptions> = {},
) {
  const warnings: (readonly [string, unknown])[] = [];
  const uploads = new RecordingUploads({
    spool,
    token,
    clock: hurried,
    random: () => 0,
    log: {
      ...silentLog,
      warn: (fields, message) => warnings.push([message, (fields as { readonly problem?: string }).problem]),
    },
    ...more,
  });
  t.teardown(() => uploads.close());
  return Object.assign(uploads, { warnings });
}

/** A fresh agent, where its recordings are, and what sends them to the admin. */
async function uploading(t: ExecutionContext) {
  const [agent, directory] = [await enrollRaw(t, fleet()), temporaryDirectory(t)];
  const spool = new RecordingSpool(directory);
  return { agent, directory, spool, uploads: startUploads(t, spool, agent.api_token) };
}

const allGone = (spool: RecordingSpool) => until('all recordings to be gone', () => spool.list().length === 0);
/**
 * Of the warnings, those of recordings that are not sent any more: a busy admin is asked again, and that is told too.
 */
const givenUp = ({ warnings }: ReturnType<typeof startUploads>) =>
  warnings.filter(([message]) => message === 'A recording of an SSH session was given up');
const idsIn = (spool: RecordingSpool) => spool.list().map(({ id }) => id);
const asked = (path: string) => settledAnswer(() => fleet().rest.call('GET', path));
const stored = (id: string) => fleet().rest.get<SshRecordingResource>(`/ssh_recordings/${id}`);
const texts = ({ cast }: SshRecordingResource) =>
  (cast ?? '')
    .split('\n')
    .slice(1, -1)
    .map((line) => (JSON.parse(line) as readonly unknown[]).slice(1));

test.serial(
  'finished recordings go to the admin one after the other, as they were recorded, and leave the disk',
  async (t) => {
    const { agent, directory, spool, uploads } = await uploading(t);
    const before = await record(spool, ['\u001B[1m', 'grüße'], undefined, 'ls -l');
    uploads.start(fleet().admin().url);
    await allGone(spool);
    const [second, third] = [await record(spool, ['two']), await record(spool, ['three'])];
    uploads.wake();
    await allGone(spool);

    const [one, two, three] = [await stored(before), await stored(second), await stored(third)];
    t.like(one, {
      node_id: agent.node_id,
      ssh_username_id: USER,
      username: 'ada',
      command: 'ls -l',
      width: 100,
      height: 30,
      truncated: false,
    });
    t.deepEqual(
      [one, two, three].map((recording) => texts(recording).map((event) => event.join(' '))),
      [
        ['o \u001B[1m', 'o grüße', 'r 120x40'],
        ['o two', 'r 120x40'],
        ['o three', 'r 120x40'],
      ],
    );
    t.deepEqual(readdirSync(directory), []);
  },
);

test.serial('a recording that reaches its limit with text that is long when written down is taken whole', async (t) => {
  const { spool, uploads } = await uploading(t);
  const ids = [];
  for (const shown of [['\u0001'.repeat(BYTES_MAX)], 'x'.repeat(BYTES_MAX).split(''), ['\u{1F600}'.repeat(BYTES_MAX)]])
    ids.push(await record(spool, shown, BYTES_MAX));

  uploads.start(fleet().admin().url);
  await allGone(spool);

  t.deepEqual(givenUp(uploads), []);
  for (const id of ids) {
    const recording = await stored(id);
    t.true(recording.truncated);
    t.true(
      recording.size_bytes <= BYTES_MAX && recording.size_bytes > BYTES_MAX * 0.9,
      `${recording.size_bytes} bytes`,
    );
    t.true(recording.cast?.isWellFormed());
  }
});

/** Passes requests on to the admin and, while it is told to, cuts the connection where the answer should come. */
async function answerEater(
  t: ExecutionContext,
): Promise<{ readonly url: string; eats: boolean; readonly eaten: () => number }> {
  let eaten = 0;
  const eater = { url: '', eats: true, eaten: () => eaten };
  const server = createServer((client) => {
    const behind = connect(Number(new URL(fleet().admin().url).port), '127.0.0.1').on('error', () => {});
    for (const socket of [client, behind])
      socket.on('close', () => {
        client.destroy();
        behind.destroy();
      });
    client.pipe(behind);
    behind.on('data', (data) => {
      if (!eater.eats) return client.write(data);
      eaten += 1;
      return client.destroy();
    });
  });
  eater.url = `http://127.0.0.1:${await listening(t, server)}`;
  return eater;
}

test.serial(
  'a recording whose confirmation is lost survives restarts of admin and agent, is sent again, and is stored once',
  async (t) => {
    const admin = fleet().admin();
    const eater = await answerEater(t);
    const { agent, directory, spool: first, uploads: lost } = await uploading(t);
    const id = await record(first, ['once']);
    lost.start(eater.url);
    // what is lost first may be that it has no time now
    const { username } = await until('the admin to have it', async () => eater.eaten() >= 2 && (await stored(id)));
    t.is(username, 'ada');
    t.deepEqual(idsIn(first), [id], 'the agent does not know');
    await admin.kill();
    eater.eats = false;
    await lost.close();

    const second = new RecordingSpool(directory);
    const next = startUploads(t, second, agent.api_token);
    next.start(eater.url);
    await until('it to be refused', () => next.warnings.length > 0);
    t.deepEqual(idsIn(second), [id]);
    await admin.start();
    await allGone(second);

    t.is((await asked(`/ssh_recordings?node_id__in=${agent.node_id}`)).total, 1);
    t.is(next.warnings.length, 1, 'one line, not one a try');
  },
);

test.serial('what no admin would ever take is given up with one line each, and keeps nothing else back', async (t) => {
  const { agent, directory, spool: made } = await uploading(t);
  const other = await enrollRaw(t, fleet());
  const large = await record(made, ['large']);
  const damaged = await record(made, ['damaged']);
  const gone = await record(made, ['gone']);
  const good = await record(made, ['good']);
  const longer = castOf([[0, 'o', 'x'.repeat(RECORDING_TEXT_BYTES_MAX + RECORDING_SLACK_BYTES)]]);
  writeFileSync(join(directory, `${large}.cast.gz`), gzipSync(longer));
  writeFileSync(join(directory, `${damaged}.cast.gz`), Buffer.alloc(100, 7));
  const spool = new RecordingSpool(directory);
  rmSync(join(directory, `${gone}.cast.gz`));
  const uploads = startUploads(t, spool, agent.api_token);

  uploads.start(fleet().admin().url);
  await allGone(spool);

  t.deepEqual(
    givenUp(uploads)
      .map(([, problem]) => String(problem))
      .toSorted(),
    ['it cannot be read any more', 'the admin answered 413', 'the admin answered 422'],
  );
  t.deepEqual(texts(await stored(good))[0], ['o', 'good']);
  for (const id of [large, damaged, gone]) t.is((await asked(`/ssh_recordings/${id}`)).status, 404);
  t.is((await asked(`/ssh_recordings?node_id__in=${other.node_id}`)).total, 0);
});

test('upload retries wait ever longer; a live session hurries them, a finished recording does not; closing cuts them', async (t) => {
  const seen: string[] = [];
  const url = await origin(t, (request, response) => {
    seen.push(request.url ?? '');
    if (seen.length < 4) response.writeHead(503).end();
  });
  const clock = createFakeClock();
  const spool = new RecordingSpool(temporaryDirectory(t));
  const ids = [await record(spool, ['one']), await record(spool, ['two'])];
  let begun = 0;
  const counted: UploadOptions['spool'] = {
    list: () => spool.list(),
    remove: (id) => spool.remove(id),
    read: (id) => {
      begun += 1;
      return spool.read(id);
    },
  };
  const uploads = startUploads(t, counted, 'token', { clock, random: () => 0.999_999 });
  const firstWaitMs = reconnectDelayMs(0, 0.999_999);

  uploads.wake();
  t.is(clock.waiting() + seen.length, 0, 'nothing goes anywhere before a session is live');
  uploads.start(`${url}/behind/`);
  await until('the first try to be over', () => clock.waiting() === 1);
  uploads.wake();
  clock.pass(firstWaitMs - 1);
  t.is(begun, 1);
  clock.pass(1);
  await until('the second', () => seen.length === 2 && clock.waiting() === 1);
  clock.pass(firstWaitMs);
  t.is(clock.waiting(), 1, 'the second wait is longer');
  uploads.start(url);
  await until('the third', () => seen.length === 3 && clock.waiting() === 1);
  clock.pass(firstWaitMs);
  await until('the fourth, which gets no answer', () => seen.length === 4);
  await uploads.close();
  uploads.wake();

  t.is(clock.waiting(), 0);
  t.deepEqual(idsIn(spool).toSorted(), ids.toSorted());
  t.deepEqual(
    seen,
    ['/behind', '/behind', '', ''].map(
      (behind, position) => `${behind}/api/v1/agents/recordings/${idsIn(spool)[position % 2]}`,
    ),
    'one that fails does not stand before the others',
  );
});
