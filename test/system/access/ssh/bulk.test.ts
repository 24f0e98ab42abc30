/** Much output, much input, and clients that do not read: bytes arrive exactly, and none wait in memory. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { OUTPUT_WAITING_BYTES_MAX } from '../../../../agent/access/ssh/sessions/channel-writer.ts';
import { TERMINAL_SILENCE_MS_MAX } from '../../../../agent/access/ssh/sessions/terminal.ts';
import { KEY_EXCHANGES_PER_MINUTE_MAX } from '../../../../transport/net/ssh/limits.ts';
import { withAlice } from '../../../support/agent/ssh-fixture.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { lives, processorTime } from '../../../support/processes.ts';
import { options as settings } from '../../../support/ssh/openssh.ts';
import { execRaw, withRawAlice, type RawClient } from '../../../support/ssh/raw-ssh-client.ts';
import { until, untilStill } from '../../../support/until.ts';

const test = await peerTest('ssh', 'ssh-keygen');

/** Lets a client of ssh2 take no more than its first window, until `adjust`. */
function holdWindow(client: RawClient): { adjust: () => void } {
  const { _protocol: protocol } = client as unknown as {
    readonly _protocol: { channelWindowAdjust: (channel: number, bytes: number) => void };
  };
  const send = protocol.channelWindowAdjust.bind(protocol);
  protocol.channelWindowAdjust = () => {};
  return { adjust: () => send(0, 2_097_152) };
}

/** More than any buffer on the way, in bytes. */
const MUCH_BYTES = 200_000_000;

test.serial('200 MB of output arrive exactly, and do not wait in memory', async (t) => {
  const { fixture, words } = await withAlice(t);
  const child = fixture.start([...words, `head -c ${MUCH_BYTES} /dev/zero | tee /dev/stderr`]);
  child.stdin.end();
  const hashes = [createHash('sha256'), createHash('sha256')] as const;
  let bytes = 0;
  let largest = 0;
  child.stdout.on('data', (data: Buffer) => {
    bytes += data.length;
    hashes[0].update(data);
    largest = Math.max(largest, process.memoryUsage.rss());
  });
  child.stderr.on('data', (data: Buffer) => hashes[1].update(data));
  await once(child, 'close');

  const zeros = createHash('sha256');
  for (let at = 0; at < MUCH_BYTES; at += 1_000_000) zeros.update(Buffer.alloc(1_000_000));
  const expected = zeros.digest('hex');
  t.deepEqual([bytes, ...hashes.map((hash) => hash.digest('hex'))], [MUCH_BYTES, expected, expected]);
  t.true(largest < 400_000_000, `${largest} bytes of memory`);
});

test.serial('200 MB of input arrive exactly', async (t) => {
  const { fixture, words } = await withAlice(t);
  const child = fixture.start([...words, 'sha256sum']);
  const block = randomBytes(1_000_000);
  const hash = createHash('sha256');
  const end = text(child.stdout);
  await pipeline(
    (async function* blocks() {
      for (let at = 0; at < MUCH_BYTES; at += block.length) {
        hash.update(block);
        yield block;
      }
    })(),
    child.stdin,
  );

  t.is(await end, `${hash.digest('hex')}  -\n`);
});

test.serial('OpenSSH that asks for new keys after each megabyte sends and receives all, at full speed', async (t) => {
  const { fixture, words } = await withAlice(t);
  const child = fixture.start(['-v', ...settings('RekeyLimit=1M', 'Ciphers=aes128-gcm@openssh.com'), ...words, 'cat']);
  const block = randomBytes(1_000_000);
  const hashes = [createHash('sha256'), createHash('sha256')] as const;
  child.stdout.on('data', (data: Buffer) => hashes[1].update(data));
  const said = text(child.stderr);

  const ended = once(child, 'close');
  await pipeline(
    (async function* blocks() {
      for (let at = 0; at < MUCH_BYTES / 4; at += block.length) {
        hashes[0].update(block);
        yield block;
      }
    })(),
    child.stdin,
  ).catch(() => {}); // how it ended says why

  t.deepEqual(await ended, [0, null], (await said).slice(-500));
  t.is(hashes[1].digest('hex'), hashes[0].digest('hex'));
  const exchanges = (await said).match(/SSH2_MSG_KEXINIT sent/gu)?.length ?? 0;
  t.true(exchanges > 2 * KEY_EXCHANGES_PER_MINUTE_MAX, `${exchanges} exchanges`);
});

test.serial('a client that reads nothing stops the program, and its memory at the agent stays small', async (t) => {
  const { fixture, client } = await withRawAlice(t);
  const channel = await execRaw(client, `(yes & echo $! > ${join(fixture.directory, 'pid')}; wait)`);
  channel.stderr.resume();
  const pid = await until('yes runs', () => Number(readFileSync(join(fixture.directory, 'pid'), 'utf8')) || null);

  await untilStill('yes to wait before it writes', () => processorTime(pid));
  client.destroy();

  await until('yes is gone', () => !lives(pid));
  t.true(process.memoryUsage.rss() < 400_000_000);
});

test.serial(
  'the last output of a program with a terminal waits for a slow client, long after the program is over',
  async (t) => {
    const { fixture, client } = await withRawAlice(t);
    const { adjust } = holdWindow(client);
    // As much as fits into the client's window and what the server holds, and a little of it into the terminal itself.
    const bytes = 2_097_152 + OUTPUT_WAITING_BYTES_MAX + 6_000;
    const pidFile = join(fixture.directory, 'pid');
    const channel = await execRaw(client, `echo $$ > ${pidFile}; head -c ${bytes} /dev/zero | tr '\\0' x`, true);
    const pid = await until('the program runs', () => Number(readFileSync(pidFile, 'utf8')) || null);
    let overMs = Infinity;
    await until('the program has been over for long', () => {
      if (!lives(pid)) overMs = Math.min(overMs, performance.now());
      return performance.now() > overMs + 3 * TERMINAL_SILENCE_MS_MAX;
    });

    let got = 0;
    channel.on('data', (data: Buffer) => {
      got += data.length;
    });
    adjust();
    const [[status]] = await Promise.all([once(channel, 'exit') as Promise<[number]>, once(channel, 'close')]);

    t.deepEqual([status, got], [0, bytes]);
  },
);
