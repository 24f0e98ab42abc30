/** An agent that turns on its admin by its tunnel costs itself alone (L1): it is cut, and the others do not notice. */
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { MESSAGE_HEADER } from '../../../transport/protocol/tunnel.ts';
import { BUSY_MS, hangAfter, scaled } from '../../support/busy.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { untilStill } from '../../support/until.ts';
import { memoryMb } from '../../support/processes.ts';
import { FLAG, frame, hostileAgent, OK, TYPE, type HostileTunnel } from '../../support/net/hostile-tunnel.ts';
import { connectThrough, endOf, streamThrough } from '../../support/net/reach-fixture.ts';
import { silentPort } from '../../support/net/listening.ts';

const fleet = sharedFleet(test, { agents: 1 });

/** A flood is cut within this, in ms, as long as this machine takes for it now. Source: docs/promises.md, L1. */
const cutMsMax = (): number => scaled(2_000 + BUSY_MS);

/**
 * What the admin may hold more than before after all of this, in MB. Source: its own limits of one tunnel and one
 * stream, with room for the heap that Node keeps.
 */
const GROWTH_MB_MAX = 192;

/** Latencies below this are taken for the machine's own noise, in ms. */
const NOISE_MS = 40;

/** What the admin holds, in MiB. */
const adminMb = (): number => memoryMb(fleet().admin().program.pid);

const SETTINGS = frame(TYPE.settings, FLAG.none, 0);
const times = (bytes: Buffer, total = 262_144): Buffer =>
  Buffer.concat(Array.from({ length: Math.ceil(total / bytes.length) }, () => bytes));
const CODE = Buffer.from([0, 0, 0, 8]);

/** Says its settings, waits to be asked for a stream, says what comes first on it, and then one thing for ever. */
const flood =
  (first: (stream: number) => Buffer, again: (stream: number) => Buffer) =>
  async (tunnel: HostileTunnel): Promise<void> => {
    tunnel.socket.send(SETTINGS);
    const stream = await tunnel.firstStream;
    tunnel.socket.send(Buffer.concat([SETTINGS, first(stream)]));
    await tunnel.flood(times(again(stream)), cutMsMax());
  };
/** Says one thing. */
const says = (said: string | Buffer) => (tunnel: HostileTunnel) => tunnel.socket.send(said);
const nothing = (): Buffer => frame(TYPE.settings, FLAG.ack, 0);
const accepted = (stream: number): Buffer => frame(TYPE.headers, FLAG.endHeaders, stream, OK);

/** What it does on a tunnel, each a reason to cut it. */
const FLOODS: readonly (readonly [string, (tunnel: HostileTunnel) => unknown])[] = [
  ['bytes that are no HTTP/2', (tunnel) => tunnel.flood(Buffer.alloc(65_536, 0xab), cutMsMax())],
  ['text', says('hello')],
  ['empty messages', says(Buffer.alloc(0))],
  ['a message of 5 MB', says(Buffer.alloc(5_000_000))],
  ['SETTINGS without end', flood(nothing, () => frame(TYPE.settings, FLAG.none, 0, Buffer.from([0, 3, 0, 0, 0, 100])))],
  ['PING without end', flood(nothing, () => frame(TYPE.ping, FLAG.none, 0, Buffer.alloc(8)))],
  ['RST_STREAM without end', flood(nothing, (stream) => frame(TYPE.reset, FLAG.none, stream, CODE))],
  ['WINDOW_UPDATE without end', flood(nothing, () => frame(TYPE.window, FLAG.none, 0, Buffer.from([0, 0, 0, 1])))],
  ['PRIORITY without end', flood(nothing, (stream) => frame(TYPE.priority, FLAG.none, stream, Buffer.alloc(5)))],
  [
    'CONTINUATION without end',
    flood(
      (stream) => frame(TYPE.headers, FLAG.none, stream, OK),
      (stream) => frame(TYPE.continuation, FLAG.none, stream, Buffer.from([0, 1, 0x61, 1, 0x62])),
    ),
  ],
  ['frames of a type that does not exist', flood(nothing, () => frame(0xee, FLAG.none, 0, Buffer.alloc(16_384)))],
  [
    'pushed streams',
    flood(nothing, (stream) => frame(TYPE.push, FLAG.endHeaders, stream, Buffer.from([0, 0, 0, 2, 0x82]))),
  ],
  [
    'interim answers without end',
    flood(nothing, (stream) => frame(TYPE.headers, FLAG.endHeaders, stream, Buffer.from([0x08, 3, 0x31, 0x30, 0x33]))),
  ],
  ['empty DATA without end', flood(accepted, (stream) => frame(TYPE.data, FLAG.none, stream))],
  ['DATA of one byte without end', flood(accepted, (stream) => frame(TYPE.data, FLAG.none, stream, Buffer.alloc(1)))],
  [
    'DATA beyond the window of its stream',
    flood(accepted, (stream) => frame(TYPE.data, FLAG.none, stream, Buffer.alloc(16_384))),
  ],
  ['DATA for a stream that nobody opened', flood(nothing, () => frame(TYPE.data, FLAG.none, 9, Buffer.alloc(16_384)))],
];

test.serial(
  'an agent that floods a tunnel is cut within 2 s, its callers get an answer, and other machines work as before',
  async (t) => {
    t.timeout(hangAfter(180_000));
    const { vpn_hostname: name } = await fleet().node();
    const port = await silentPort(t);
    const other = async (while_: () => boolean): Promise<number[]> => {
      const tookMs: number[] = [];
      do {
        const fromMs = performance.now();
        (await streamThrough(fleet().admin().httpProxyPort, `${name}:${port}`)).destroy();
        tookMs.push(performance.now() - fromMs);
        await delay(15);
      } while (while_());
      return tookMs;
    };
    const lasting = (ms: number) => {
      const endMs = performance.now() + ms;
      return () => performance.now() < endMs;
    };
    await other(lasting(1_500));
    const beforeMb = adminMb();
    const [quiet, during]: [number[], number[]] = [[], []];

    for (const [what, attack] of FLOODS) {
      quiet.push(...(await other(lasting(600))));
      const agent = await hostileAgent(t, fleet());
      let beganMs = Infinity;
      let cutMs = Infinity;
      agent.onTunnel = (tunnel) => {
        beganMs = performance.now();
        tunnel.socket.once('close', () => {
          cutMs = performance.now();
        });
        void attack(tunnel);
      };
      const asked = connectThrough(fleet().admin().httpProxyPort, `${agent.host}:1`).then(
        ({ status }) => status,
        () => 0,
      );
      const second = lasting(1_000);
      const msMax = cutMsMax();
      during.push(...(await other(() => second() || (cutMs === Infinity && !(performance.now() - beganMs > msMax)))));

      t.true(cutMs - beganMs < msMax, `${what}: cut after ${cutMs - beganMs} ms`);
      t.true([200, 503].includes(await asked), what);
    }

    const [usual, under] = [quantile(quiet, 0.95), quantile(during, 0.95)];
    t.log(
      `p95 of others: ${Math.round(usual)} ms before, ${Math.round(under)} ms under attack (p99 ${Math.round(quantile(quiet, 0.99))} and ${Math.round(quantile(during, 0.99))} ms); memory ${Math.round(beforeMb)} MB, then ${Math.round(adminMb())} MB`,
    );
    t.true(under < scaled(2 * Math.max(usual, NOISE_MS)), `${usual} ms before, ${under} ms under attack`);
    t.true(adminMb() - beforeMb < GROWTH_MB_MAX);
    t.is(fleet().admin().program.exit, null);
  },
);

test.serial(
  'an agent that takes a connection and no bytes holds up its client, and nothing is kept for it',
  async (t) => {
    const agent = await hostileAgent(t, fleet());
    agent.onTunnel = (tunnel) => {
      tunnel.socket.send(frame(TYPE.settings, FLAG.none, 0, Buffer.from([0, 4, 0, 0, 0, 0]))); // INITIAL_WINDOW_SIZE 0
      void tunnel.firstStream.then((stream) => tunnel.socket.send(accepted(stream)));
    };
    const near = await streamThrough(fleet().admin().httpProxyPort, `${agent.host}:1`);
    t.teardown(() => void near.destroy());
    const beforeMb = adminMb();

    for (let part = 0; part < 64; part += 1) near.write(Buffer.alloc(1_048_576));
    const waiting = await untilStill('nothing more to be taken', () => near.writableLength);

    t.true(waiting > 48 * 1_048_576, `${waiting} bytes wait`);
    t.true(adminMb() - beforeMb < 48, `${adminMb() - beforeMb} MB`);
  },
);

test.serial('an agent that accepts and resets, or never answers, is told of in words', async (t) => {
  const agent = await hostileAgent(t, fleet());
  agent.onTunnel = (tunnel) => {
    tunnel.socket.send(SETTINGS);
    void tunnel.firstStream.then((stream) =>
      tunnel.socket.send(Buffer.concat([accepted(stream), frame(TYPE.reset, FLAG.none, stream, CODE)])),
    );
  };
  const near = await streamThrough(fleet().admin().httpProxyPort, `${agent.host}:1`);
  t.is(await endOf(near.resume()), 'ECONNRESET');

  // on the same tunnel, which says nothing to a second stream
  const { status, body } = await connectThrough(fleet().admin().httpProxyPort, `${agent.host}:2`);
  t.is(status, 504);
  t.regex(body, /too long|in time/u);
});

test.serial(
  'what an agent says of a connection that it did not open is one plain line, whatever it says',
  async (t) => {
    const agent = await hostileAgent(t, fleet());
    const literal = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
    const refused = Buffer.concat([
      Buffer.from([0x08]),
      literal('502'),
      Buffer.from([0]),
      literal(MESSAGE_HEADER),
      literal('%1B%5B2J%1B]0;owned%07%0D%0AHTTP/1.1 200 OK%E2%80%AEend'),
    ]);
    agent.onTunnel = (tunnel) => {
      tunnel.socket.send(SETTINGS);
      void tunnel.firstStream.then((stream) =>
        tunnel.socket.send(frame(TYPE.headers, FLAG.endHeaders | FLAG.endStream, stream, refused)),
      );
    };

    const { status, body } = await connectThrough(fleet().admin().httpProxyPort, `${agent.host}:1`);

    t.deepEqual([status, body], [502, '[2J ]0;owned HTTP/1.1 200 OK end']);
  },
);

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
