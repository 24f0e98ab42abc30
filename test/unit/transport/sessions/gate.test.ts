/** Who gets a session, and what the others get. */
import test from 'ava';
import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { createAddressLimiter } from '../../../../transport/net/window-limiter.ts';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { NODE } from '../../../support/actors.ts';
import { until } from '../../../support/until.ts';
import { openGate, GATED, TOKEN, tokenOf, UPGRADE } from './fixture.ts';

test('a missing or a wrong token is a 401 that names its scheme', async (t) => {
  const fixture = await openGate(t);
  for (const token of [null, 'wrong', 'x y', '', 'x'.repeat(600)]) {
    const { status, headers } = await fixture.dial({ token }).refused();

    t.deepEqual([status, headers['www-authenticate']], [401, 'Bearer'], String(token));
  }
  t.is(fixture.sessions.count(), 0);
});

test('the token of a node that somebody deleted is a 401 that says so, and nobody else learns of it', async (t) => {
  const fixture = await openGate(t);

  t.is((await fixture.dial({ token: 'token-of-a-deleted-node' }).refused()).headers['x-edge-refusal'], 'node-deleted');
  t.is((await fixture.dial({ token: 'wrong' }).refused()).headers['x-edge-refusal'], undefined);
});

test('wrong tokens are looked up only so often from one address; one that was right before goes on from there (L1)', async (t) => {
  const wrongTokens = createAddressLimiter({ perWindowMax: 5, windowMs: 60_000, keysMax: 10 }, { nowMs: () => 0 });
  let asked = 0;
  const fixture = await openGate(t, {
    gate: {
      wrongTokens,
      nodeByToken: (hash) => {
        asked += 1;
        return Promise.resolve(Buffer.from(hash).equals(createHash('sha256').update(TOKEN).digest()) ? GATED : null);
      },
    },
  });
  await fixture.live();

  const answers: number[] = [];
  for (let index = 0; index < 20; index += 1)
    answers.push((await fixture.dial({ token: `wrong-${index}` }).refused()).status);
  const { headers } = await fixture.dial({ token: tokenOf(2) }).refused();
  await fixture.live();

  t.deepEqual(answers, [...Array.from({ length: 5 }, () => 401), ...Array.from({ length: 15 }, () => 429)]);
  t.is(headers['retry-after'], '60');
  t.is(asked, 7);
});

test('another subprotocol, or none, is a 400', async (t) => {
  const fixture = await openGate(t);
  for (const protocol of [null, 'edge.session.v0', 'chat'])
    t.is((await fixture.dial({ protocol }).refused()).status, 400);
});

test('while the database is away an agent gets a 503 and is told when to come back', async (t) => {
  const fixture = await openGate(t, { gate: { nodeByToken: () => Promise.reject(new DatabaseUnavailable('away')) } });

  const { status, headers } = await fixture.dial().refused();

  t.deepEqual([status, headers['retry-after']], [503, '1']);
});

test('an agent of a cluster that another admin owns is sent there', async (t) => {
  const fixture = await openGate(t, {
    gate: { owns: () => false, ownerOf: () => Promise.resolve({ adminId: 'other', url: 'https://other.test:44000' }) },
  });

  t.deepEqual(await fixture.dial().closed(), { code: 4010, reason: 'https://other.test:44000' });
  t.is(fixture.sessions.count(), 0);
});

test('without a known owner, or with one whose URL fits no close frame, it is sent away without a URL', async (t) => {
  for (const url of [null, `https://${'x'.repeat(200)}.test`]) {
    const fixture = await openGate(t, {
      gate: { owns: () => false, ownerOf: () => Promise.resolve(url === null ? null : { adminId: 'other', url }) },
    });

    t.deepEqual(await fixture.dial().closed(), { code: 4010, reason: '' });
  }
});

test('an agent that goes away while its token is looked up leaves nothing behind', async (t) => {
  const asked = new EventEmitter();
  const fixture = await openGate(t, {
    gate: {
      nodeByToken: () =>
        new Promise((resolve) => {
          asked.emit('asked', resolve);
        }),
    },
  });
  const asking = once(asked, 'asked') as Promise<[(known: typeof GATED) => void]>;
  const socket = connect(fixture.port, '127.0.0.1');
  socket.write(UPGRADE);
  const [answer] = await asking;
  socket.resetAndDestroy();
  await once(socket, 'close');

  answer(GATED);

  await until('no session is left', () => fixture.sessions.count() === 0);
  t.deepEqual(fixture.told, []);
});

test('a good token opens a session of its node', async (t) => {
  const fixture = await openGate(t);
  await fixture.live();

  t.deepEqual(
    fixture.told.map(({ to }) => to),
    [{ kind: 'node', id: NODE }],
  );
  t.is(fixture.sessions.count(), 1);
});
