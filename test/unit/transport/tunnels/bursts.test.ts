/** What a tunnel sends in one go is handled a little at a time, with turns for everybody else between (L1). */
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import test from 'ava';
import { PIECE_FRAMES_MAX } from '../../../../transport/tunnels/limits.ts';
import {
  FLAG,
  frame,
  OK,
  openTunnelOf,
  TUNNEL_KINDS,
  TYPE,
  type HostileSocket,
  type HostileTunnel,
  type TunnelKind,
} from '../../../support/net/hostile-tunnel.ts';
import type { Scope } from '../../../support/scope.ts';
import { tunnelsFixture } from '../../../support/net/tunnels-fixture.ts';
import { until } from '../../../support/until.ts';

/** Bytes that came one a frame, two of which count as a frame: what is handled in a turn where nothing was lately. */
const IN_A_TURN = 2 * 2 * PIECE_FRAMES_MAX;

const byteOf = (stream: number, flags: number = FLAG.none): Buffer => frame(TYPE.data, flags, stream, Buffer.alloc(1));
const times = (bytes: Buffer, count: number): Buffer => Buffer.concat(Array.from({ length: count }, () => bytes));

/** A stream of an agent whose frames are the test's, and how many of its bytes came. */
interface Stream {
  readonly tunnel: HostileTunnel<HostileSocket>;
  readonly id: number;
  readonly stream: Duplex;
  readonly seen: { bytes: number; readonly inTurns: number[] };
}

/** Opens one, and counts what comes of it in each turn of the event loop. */
async function openStream(scope: Scope, kind: TunnelKind): Promise<Stream> {
  const { reach, tokens, url } = await tunnelsFixture(scope, { opens: false });
  const reached = reach(1);
  await until('the agent is asked', () => tokens.length === 1);
  const tunnel = await openTunnelOf(kind, scope, url, tokens[0] ?? '');
  tunnel.socket.send(frame(TYPE.settings, FLAG.none, 0));
  const id = await tunnel.firstStream;
  tunnel.socket.send(frame(TYPE.headers, FLAG.endHeaders, id, OK));
  const dialled = await reached;
  if (!dialled.ok) throw new Error(dialled.message);
  const { stream } = dialled;
  const seen = { bytes: 0, inTurns: [] as number[] };
  let before = 0;
  let turn = setImmediate(function next() {
    if (seen.bytes > before) seen.inTurns.push(seen.bytes - before);
    before = seen.bytes;
    turn = setImmediate(next);
  });
  scope.teardown(() => clearImmediate(turn));
  stream.on('data', (chunk: Buffer) => {
    seen.bytes += chunk.length;
  });
  stream.on('error', () => {}); // `close` follows
  return { tunnel, id, stream, seen };
}

for (const kind of TUNNEL_KINDS) {
  test(`${kind}: a burst within the share of a tunnel comes through whole, and everybody else has turns between`, async (t) => {
    const { tunnel, id, seen } = await openStream(t, kind);
    const count = 30_000;

    tunnel.socket.send(times(byteOf(id), count));
    await until('all came', () => seen.bytes === count);

    const most = Math.max(...seen.inTurns);
    t.true(most <= 2 * IN_A_TURN, `${most} frames were handled in one turn`);
  });

  test(`${kind}: a flood is counted as it comes and cut before it is handled`, async (t) => {
    const { tunnel, id, stream, seen } = await openStream(t, kind);
    const cut = new Promise((resolve) => {
      stream.once('close', resolve);
    });

    void tunnel.flood(times(byteOf(id), 6_000), Infinity);
    await cut;

    t.true(seen.bytes <= 4 * IN_A_TURN, `${seen.bytes} frames were handled`);
  });

  test(`${kind}: what an agent sent before it closed its tunnel arrives with its end, though no answer can be sent`, async (t) => {
    const { tunnel, id, stream, seen } = await openStream(t, kind);
    const ended = once(stream, 'end');
    const count = 10_000;
    const half = times(byteOf(id), count / 2);
    const ping = frame(TYPE.ping, FLAG.none, 0, Buffer.alloc(8));

    tunnel.socket.send(Buffer.concat([half, ping, half.subarray(10), byteOf(id, FLAG.endStream)]));
    tunnel.socket.close();
    await ended;

    t.is(seen.bytes, count);
  });
}
