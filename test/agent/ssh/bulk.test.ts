import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { peerTest } from '../../support/peer-test.ts';
import { until } from '../../support/until.ts';
import { connectRaw, execRaw } from './raw-client.ts';
import { lives, withAlice } from './ssh-rig.ts';

const test = await peerTest('ssh', 'ssh-keygen');

/** More than any buffer on the way, in bytes. */
const MUCH_BYTES = 200_000_000;

test.serial('200 MB of output arrive exactly, and do not wait in memory', async (t) => {
  const { rig, words } = await withAlice(t);
  const child = rig.start([...words, `head -c ${MUCH_BYTES} /dev/zero | tee /dev/stderr`]);
  child.stdin.end();
  const hashes = [child.stdout, child.stderr].map(() => createHash('sha256'));
  let bytes = 0;
  let largest = 0;
  const [out, error] = hashes;
  child.stdout.on('data', (data: Buffer) => {
    bytes += data.length;
    out?.update(data);
    largest = Math.max(largest, process.memoryUsage.rss());
  });
  child.stderr.on('data', (data: Buffer) => { error?.update(data); });
  await once(child, 'close');

  const zeros = createHash('sha256');
  for (let at = 0; at < MUCH_BYTES; at += 1_000_000) zeros.update(Buffer.alloc(1_000_000));
  const expected = zeros.digest('hex');
  t.deepEqual([bytes, ...hashes.map((hash) => hash.digest('hex'))], [MUCH_BYTES, expected, expected]);
  t.true(largest < 400_000_000, `${largest} bytes of memory`);
});

test.serial('200 MB of input arrive exactly', async (t) => {
  const { rig, words } = await withAlice(t);
  const child = rig.start([...words, 'sha256sum']);
  const block = randomBytes(1_000_000);
  const hash = createHash('sha256');
  const end = (async () => {
    let text = '';
    for await (const data of child.stdout) text += String(data);
    return text;
  })();
  await pipeline((async function* blocks() {
    for (let at = 0; at < MUCH_BYTES; at += block.length) {
      hash.update(block);
      yield block;
    }
  })(), child.stdin);

  t.is(await end, `${hash.digest('hex')}  -\n`);
});

test.serial('a client that reads nothing stops the program, and its memory at the agent stays small', async (t) => {
  const { rig, key } = await withAlice(t);
  const client = await connectRaw(t, rig.port, { username: 'alice', privateKey: readFileSync(key) });
  const channel = await execRaw(client, `(yes & echo $! > ${join(rig.directory, 'pid')}; wait)`);
  channel.stderr.resume();
  const pid = await until('yes runs', () => Number(readFileSync(join(rig.directory, 'pid'), 'utf8')));
  const ticks = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ').slice(13, 15).join(' ');

  let before = '';
  await until('yes waits to write', () => {
    const now = ticks();
    const isStill = now === before && /^State:\s+S/mu.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    before = now;
    return isStill;
  });
  client.destroy();

  await until('yes is gone', () => !lives(pid));
  t.true(process.memoryUsage.rss() < 400_000_000);
});

test.serial('all output of a program with a terminal arrives, also when the client is slow', async (t) => {
  const { rig, key } = await withAlice(t);
  const client = await connectRaw(t, rig.port, { username: 'alice', privateKey: readFileSync(key) });
  const channel = await new Promise<Awaited<ReturnType<typeof execRaw>>>((resolve, reject) => {
    client.exec('seq 1 500000', { pty: true }, (error, opened) => { if (error) reject(error); else resolve(opened); });
  });

  await until('the client is full', () => channel.readableLength > 1_000_000);
  let text = '';
  channel.on('data', (data: Buffer) => { text += String(data); });
  const [status] = await once(channel, 'exit') as [number];
  await until('the end', () => text.endsWith('500000\r\n'));

  t.is(status, 0);
  t.is(text.split('\r\n').length, 500_001);
});
