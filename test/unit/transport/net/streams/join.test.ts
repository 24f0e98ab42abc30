import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { Joins, type Ended, type JoinsOptions } from '../../../../../transport/net/streams/join.ts';
import { createFakeClock } from '../../../../support/fake-clock.ts';
import { until } from '../../../../support/until.ts';
import { http2Pair, rest, tcpPair, type Pair } from '../../../../support/net/stream-pairs.ts';

/** A tunnel between two pairs; the test holds the outer ends. */
async function tunnel(
  t: ExecutionContext,
  {
    make = tcpPair,
    head = null,
    ...options
  }: JoinsOptions & { readonly make?: (t: ExecutionContext) => Promise<Pair>; readonly head?: Buffer | null } = {},
) {
  const joins = new Joins(options);
  const [near, far] = await Promise.all([tcpPair(t), make(t)]);
  const ended = Promise.withResolvers<Ended>();
  let told = 0;
  joins.join(near.ours, far.ours, head, (end) => {
    told += 1;
    ended.resolve(end);
  });
  return { joins, client: near.theirs, target: far.theirs, far, ended: ended.promise, told: () => told };
}

for (const [name, make] of [
  ['TCP', tcpPair],
  ['an HTTP/2 stream', http2Pair],
] as const) {
  test(`a client that has said all still hears the whole answer over ${name}`, async (t) => {
    const there = await tunnel(t, { make });
    const question = randomBytes(300_000);
    const answer = randomBytes(700_000);
    const heard = rest(there.client);

    there.client.end(question);
    const asked = await rest(there.target);
    there.target.end(answer);

    t.deepEqual(asked, { bytes: question, isWhole: true });
    t.deepEqual(await heard, { bytes: answer, isWhole: true });
    t.like(await there.ended, { cause: 'normal', bytesUp: 300_000, bytesDown: 700_000 });
    t.deepEqual(there.joins.bytes(), { up: 300_000, down: 700_000 });
    t.is(there.joins.open, 0);
  });

  test(`a target over ${name} that has said all still hears the rest of the client`, async (t) => {
    const there = await tunnel(t, { make });
    const asked = rest(there.target);

    there.target.end('first');
    t.deepEqual(await rest(there.client), { bytes: Buffer.from('first'), isWhole: true });
    there.client.end('and last');

    t.deepEqual(await asked, { bytes: Buffer.from('and last'), isWhole: true });
    t.like(await there.ended, { cause: 'normal' });
  });

  test(`a client that is cut cuts its target over ${name}, and its stream does not end as if it were complete`, async (t) => {
    const there = await tunnel(t, { make });
    const asked = rest(there.target);
    there.client.write('half of');
    await once(there.target, 'data');

    there.client.resetAndDestroy();

    t.false((await asked).isWhole);
    t.like(await there.ended, { cause: 'reset', bytesUp: 7 });
  });
}

test('a target over TCP that is cut cuts its client', async (t) => {
  const there = await tunnel(t);
  const heard = rest(there.client);
  there.target.write('half of');
  await once(there.client, 'data');

  (there.target as Awaited<ReturnType<typeof tcpPair>>['theirs']).resetAndDestroy();

  t.deepEqual(await heard, { bytes: Buffer.from('half of'), isWhole: false });
  t.like(await there.ended, { cause: 'reset', bytesDown: 7 });
  t.is(there.told(), 1);
});

for (const [how, problem] of [
  ['with an error', new Error('cut')],
  ['without a word', undefined],
] as const) {
  test(`a target over HTTP/2 that is destroyed ${how} cuts its client`, async (t) => {
    const there = await tunnel(t, { make: http2Pair });
    const heard = rest(there.client);
    there.target.write('half of');
    await once(there.client, 'data');

    there.target.destroy(problem);

    t.false((await heard).isWhole);
    t.like(await there.ended, { cause: 'reset' });
  });
}

test('an HTTP/2 connection that breaks cuts the clients of its streams', async (t) => {
  const near = await tcpPair(t);
  const far = await http2Pair(t);
  const joins = new Joins();
  joins.join(near.ours, far.ours);
  const heard = rest(near.theirs);
  far.theirs.write('half of');
  await once(near.theirs, 'data');

  far.session.destroy();

  t.false((await heard).isWhole);
  t.is(joins.ends.reset, 1);
});

test('what came before goes first, and is counted', async (t) => {
  const there = await tunnel(t, { head: Buffer.from('early ') });

  there.client.end('late');

  t.deepEqual(await rest(there.target), { bytes: Buffer.from('early late'), isWhole: true });
  there.target.end();
  t.like(await there.ended, { cause: 'normal', bytesUp: 10 });
});

test('a side that ended before the join ends the other one', async (t) => {
  const [near, far] = await Promise.all([tcpPair(t), tcpPair(t)]);
  near.theirs.end();
  near.ours.resume();
  await once(near.ours, 'end');

  new Joins().join(near.ours, far.ours);

  t.deepEqual(await rest(far.theirs), { bytes: Buffer.alloc(0), isWhole: true });
});

test('a side that is gone before the join cuts the other one', async (t) => {
  const [near, far] = await Promise.all([tcpPair(t), tcpPair(t)]);
  const joins = new Joins();
  near.ours.destroy();
  const asked = rest(far.theirs);

  joins.join(near.ours, far.ours);

  t.false((await asked).isWhole);
  t.is(joins.ends.reset, 1);
});

test('a reader that is slow holds up its writer, and memory stays bounded', async (t) => {
  const there = await tunnel(t);
  there.client.pause();

  for (let count = 0; count < 512; count += 1) there.target.write(Buffer.alloc(65_536));
  for (let last = -1; last !== there.joins.bytes().down;) {
    last = there.joins.bytes().down;
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    }); // nothing tells that bytes have stopped to move
  }

  t.true(there.joins.bytes().down < 16 * 1_048_576); // what the kernel holds for four sockets
  t.is(there.joins.open, 1);
  there.client.resume();
  await until('it goes on', () => there.target.writableLength === 0);
});

test('a tunnel without a byte is cut when it was idle for long, and not before', async (t) => {
  const clock = createFakeClock();
  const there = await tunnel(t, { clock, idleMsMax: 10_000 });
  const heard = rest(there.client);
  clock.pass(9_000);
  there.client.write('x');
  await once(there.target, 'data');
  clock.pass(9_900);
  t.is(there.joins.open, 1);

  clock.pass(2_000);

  t.like(await there.ended, { cause: 'idle', bytesUp: 1 });
  t.false((await heard).isWhole);
});

test('a tunnel is cut at the end of its life, however busy', async (t) => {
  const clock = createFakeClock();
  const there = await tunnel(t, { clock, lifeMsMax: 30_000, idleMsMax: 20_000 });
  const asked = rest(there.target);
  for (let second = 0; second < 29; second += 1) {
    there.client.write('x');
    await until('it arrives', () => there.joins.bytes().up === second + 1);
    clock.pass(1_000);
  }
  t.is(there.joins.open, 1);

  clock.pass(1_000);

  t.like(await there.ended, { cause: 'deadline', bytesUp: 29 });
  t.false((await asked).isWhole);
});

test('all tunnels are watched by one timer, and none runs while there is none', async (t) => {
  const clock = createFakeClock();
  const joins = new Joins({ clock, idleMsMax: 10_000 });
  t.is(clock.waiting(), 0);

  for (let count = 0; count < 5; count += 1) joins.join((await tcpPair(t)).ours, (await tcpPair(t)).ours);
  t.is(clock.waiting(), 1);
  clock.pass(12_000);

  t.is(joins.ends.idle, 5);
  t.is(clock.waiting(), 0);
});

test('at shutdown tunnels may end by themselves, and those that do not are cut', async (t) => {
  const clock = createFakeClock();
  const joins = new Joins({ clock });
  const [a, b, c, d] = await Promise.all([tcpPair(t), tcpPair(t), tcpPair(t), tcpPair(t)]);
  joins.join(a.ours, b.ours);
  joins.join(c.ours, d.ours);
  const heard = rest(c.theirs);

  const drained = joins.drain(5_000);
  a.theirs.end();
  b.theirs.end();
  await Promise.all([rest(a.theirs), rest(b.theirs)]);
  await until('one is over', () => joins.open === 1);
  clock.pass(5_000);
  await drained;

  t.deepEqual(joins.ends, { normal: 1, reset: 0, idle: 0, deadline: 0, drain: 1 });
  t.false((await heard).isWhole);
});

test('a drain with nothing left to wait for is over at once, and what comes after it is cut', async (t) => {
  const clock = createFakeClock();
  const joins = new Joins({ clock });
  const [near, far] = await Promise.all([tcpPair(t), tcpPair(t)]);

  await joins.drain(5_000);
  joins.join(near.ours, far.ours);

  t.is(joins.ends.drain, 1);
  t.is(joins.open, 0);
});

test('between streams that do not count, bytes are counted here', async (t) => {
  const [near, far] = [loop(), loop()];
  const joins = new Joins();
  joins.join(near, far);

  near.push('seven b');
  near.push(null);
  far.push('three');
  far.push(null);
  await until('it is over', () => joins.open === 0);

  t.deepEqual(joins.bytes(), { up: 7, down: 5 });
  t.is(joins.ends.normal, 1);
});

/** A stream that swallows what is written; a test pushes what is read. */
function loop(): Duplex {
  return new Duplex({
    read() {},
    write(_chunk, _encoding, done) {
      done();
    },
  });
}
