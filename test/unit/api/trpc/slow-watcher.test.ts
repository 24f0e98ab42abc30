/** A client that watches events over a slow link. */
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import test from 'ava';
import { FEED_INTERVAL_MS } from '../../../../api/feeds/limits.ts';
import { mountTrpc } from '../../../../api/trpc/mount.ts';
import { UNREAD_BYTES_MAX } from '../../../../api/trpc/unread-bytes.ts';
import { KEYS } from '../../../support/api/fakes.ts';
import { AT, idOf, settle } from '../../../support/api/rows.ts';
import { serve } from '../../../support/api/served.ts';
import { openSocket } from '../../../support/api/trpc-clients.ts';
import { until } from '../../../support/until.ts';

const SCRIPT = 'x'.repeat(100_000);

/** All of them are more than may wait in a socket. */
const EVENTS = Math.ceil((1.5 * UNREAD_BYTES_MAX) / SCRIPT.length);

test('a client that does not read for a while gets past a fan-out of long scripts, of which little waits for it', async (t) => {
  const served = await serve(t, { mounts: ({ feeds }, clock) => [mountTrpc(feeds, clock)] });
  const sockets: Duplex[] = [];
  served.api.server.prependListener('upgrade', (_request, upgraded) => sockets.push(upgraded));
  const socket = await openSocket(t, served.url, { authorization: `Bearer ${KEYS.api}` });
  const told: string[] = [];
  socket.on('message', (bytes: Buffer) => {
    if (bytes.toString() === 'PING') return; // where all of it takes long
    const { result } = JSON.parse(bytes.toString()) as { result: { data?: { data?: { events?: { id: string }[] } } } };
    told.push(...(result.data?.data?.events ?? []).map(({ id }) => id));
  });
  const { events, bus, clock } = served.fixture;
  const goOn = async (): Promise<void> => {
    clock.advance(FEED_INTERVAL_MS);
    await settle();
  };
  socket.send(JSON.stringify({ id: 1, method: 'subscription', params: { path: 'events.watch', input: {} } }));
  await once(socket, 'message');
  await settle();

  socket.pause();
  for (let n = 1; n <= EVENTS; n += 1)
    events.push({
      cursor: String(n),
      id: idOf(n),
      type: 'edge.command_execution.created',
      subject: idOf(0),
      time: AT,
      data: { command_text: SCRIPT },
    });
  bus.publish([{ type: 'events-stored' }]);
  const waiting = await until('something waits for it', async () => {
    await goOn();
    return (sockets[0]?.writableLength ?? 0) > 0 && sockets[0]?.writableLength;
  });
  for (let round = 0; round < 20; round += 1) await goOn();
  t.true(waiting < UNREAD_BYTES_MAX / 4, `${waiting} bytes`);
  t.true((sockets[0]?.writableLength ?? 0) < UNREAD_BYTES_MAX / 4);
  socket.resume();
  await until('it has all', async () => {
    await goOn();
    return told.length === EVENTS;
  });

  t.deepEqual(
    told,
    events.map(({ id }) => id),
  );
});
