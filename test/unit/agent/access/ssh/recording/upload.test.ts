/** Uploads of recordings that fail for a reason that passes: the recording stays. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { beginRecording } from '../../../../../../agent/access/ssh/recording/recorder.ts';
import { RecordingSpool } from '../../../../../../agent/access/ssh/recording/spool.ts';
import { RecordingUploads } from '../../../../../../agent/access/ssh/recording/upload.ts';
import { DIRECT, type Outbound } from '../../../../../../agent/outbound/outbound.ts';
import { takeDescriptors } from '../../../../../support/descriptors.ts';
import { createFakeClock } from '../../../../../support/fake-clock.ts';
import { silentLog } from '../../../../../support/log.ts';
import { listening } from '../../../../../support/net/listening.ts';
import { temporaryDirectory } from '../../../../../support/temporary-directory.ts';
import { until } from '../../../../../support/until.ts';

const USER = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d02';

/** More than the buffers of a connection hold, in bytes. */
const LARGE_BYTES = 8_000_000;

/** A recording of so many bytes that no compression makes smaller, and uploads that tell their warnings. */
async function waiting(t: ExecutionContext, bytes: number, outbound: Outbound = DIRECT) {
  const spool = new RecordingSpool(temporaryDirectory(t));
  const recorder = beginRecording(
    { spool, settings: () => ({ mode: 'all', bytes_max: 10 * LARGE_BYTES, ms_max: 60_000 }) },
    { usernameId: USER, username: 'ada', command: null, shell: '/bin/sh', terminal: null },
  );
  recorder?.output('out', Buffer.from(randomBytes(bytes / 2).toString('hex')));
  recorder?.end();
  await until('its end', () => spool.list().length === 1);
  const problems: unknown[] = [];
  const uploads = new RecordingUploads({
    spool,
    token: 'token',
    outbound,
    clock: createFakeClock(),
    random: () => 0,
    log: { ...silentLog, warn: (fields) => problems.push((fields as { readonly problem?: unknown }).problem) },
  });
  t.teardown(() => uploads.close());
  return { spool, uploads, problem: () => until('a warning', () => problems[0]) };
}

test.serial('a recording stays whose file cannot be opened for lack of descriptors', async (t) => {
  const port = await listening(
    t,
    createServer(() => {}),
  );
  const socket = connect(port, '127.0.0.1'); // as one that a former upload left open
  t.teardown(() => void socket.destroy());
  await once(socket, 'connect');
  const agent = Object.assign(new Agent(), { createConnection: () => socket });
  const { spool, uploads, problem } = await waiting(t, 100, { ...DIRECT, agentFor: () => agent });
  const taken = takeDescriptors(t, 0);
  if (taken === null) return t.log('no prlimit is installed here');

  uploads.start(`http://127.0.0.1:${port}`);
  const said = await problem();
  taken.giveBack();

  t.is(said, 'its file cannot be read now (EMFILE)');
  return t.is(spool.list().length, 1);
});

test.serial('a recording stays whose connection fails for lack of a file that is not its own', async (t) => {
  const missing = join(temporaryDirectory(t), 'socket');
  const agent = Object.assign(new Agent(), { createConnection: () => connect(missing) });
  const { spool, uploads, problem } = await waiting(t, LARGE_BYTES, { ...DIRECT, agentFor: () => agent });

  uploads.start('http://127.0.0.1:1');

  t.not(await problem(), 'it cannot be read any more');
  t.is(spool.list().length, 1);
});

test.serial('a recording stays whose connection is cut while it is sent', async (t) => {
  const { spool, uploads, problem } = await waiting(t, LARGE_BYTES);
  const server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.resetAndDestroy());
  });

  uploads.start(`http://127.0.0.1:${await listening(t, server)}`);

  t.not(await problem(), 'it cannot be read any more');
  t.is(spool.list().length, 1);
});
