/**
 * Clients of the proxies, and targets, that mean no good: bounded in what they cost, and nobody else notices (L1, L2).
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import * as fc from 'fast-check';
import test from 'ava';
import { HANDSHAKE_MS_MAX } from '../../../transport/proxies/limits.ts';
import { BUSY_MS, hangAfter, scaled } from '../../support/busy.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { untilStill } from '../../support/until.ts';
import { memoryMb } from '../../support/processes.ts';
import {
  closedAfterMs,
  connectThrough,
  endOf,
  exchange,
  FORWARD,
  streamThrough,
} from '../../support/net/reach-fixture.ts';
import { echo, hashing, sha256, target, pour } from '../../support/net/listening.ts';

const fleet = sharedFleet(
  test,
  { agents: 1, env: { AUTH_FAILURES_PER_MINUTE_MAX: '100000' } },
  {
    title: 'the programs live, and called nothing a bug',
    check: (t) => {
      for (const { program } of [fleet().admin(), fleet().agent()]) {
        t.is(program.exit, null);
        t.deepEqual(
          program.lines().filter(({ level }) => level === 'error' || level === 'fatal'),
          [],
        );
      }
    },
  },
);

/** Connections that say nothing. Source: docs/limits.md. */
const IDLE_COUNT = 5_000;

/** Streams at once through one agent. Source: docs/limits.md. */
const STREAMS_COUNT = 2_000;

/** Thousands of connections are this late on a busy machine, in ms. */
const SLACK_MS = 2 * BUSY_MS;

/** Latencies of commands below this are the machine's own noise, in ms. */
const NOISE_MS = 150;

const PROXY_AUTHORIZATION = `Proxy-Authorization: Basic ${Buffer.from(FORWARD).toString('base64')}\r\n`;

let name: string;
test.serial.before('the machine has a name', async () => {
  ({ vpn_hostname: name } = await fleet().node());
});

/** Ms from the creation of a command to its result. */
async function commandMs(): Promise<number> {
  const fromMs = performance.now();
  await fleet().settled(await fleet().run('true'));
  return performance.now() - fromMs;
}

async function requestWorks(port: number): Promise<boolean> {
  const stream = await streamThrough(fleet().admin().httpProxyPort, `${name}:${port}`);
  stream.write('x');
  const [said] = (await once(stream, 'data')) as [Buffer];
  stream.destroy();
  return String(said) === 'x';
}

test.serial(
  `${IDLE_COUNT} connections that say nothing are cut in time, and meanwhile requests and commands go on as before`,
  async (t) => {
    t.timeout(hangAfter(120_000));
    const port = await echo(t);
    await commandMs();
    const usual = [];
    for (let count = 0; count < 9; count += 1) usual.push(await commandMs());
    const { pid } = fleet().admin().program;
    const beforeMb = memoryMb(pid);

    const idle: Socket[] = [];
    const closed: Promise<unknown>[] = [];
    const [http, socks5] = [fleet().admin().httpProxyPort, fleet().admin().socks5ProxyPort];
    for (let count = 0; count < IDLE_COUNT; count += 1) {
      const socket = connect(count % 10 === 0 ? socks5 : http, '127.0.0.1').on('error', () => {});
      closed.push(closedAfterMs(socket.resume()));
      idle.push(socket);
      if (count % 250 === 249) await once(socket, 'connect');
    }
    const drips = setInterval(() => {
      for (const socket of idle.slice(-50)) if (socket.writable) socket.write('G');
    }, 1_000);
    t.teardown(() => {
      clearInterval(drips);
      for (const socket of idle) socket.destroy();
    });
    const openedMs = performance.now();
    const under: number[] = [];
    for (let count = 0; count < 20; count += 1) {
      t.true(await requestWorks(port));
      if (count % 2 === 0) under.push(await commandMs());
    }
    const isTried = performance.now() - openedMs < HANDSHAKE_MS_MAX;
    const heldMb = memoryMb(pid) - beforeMb;
    await Promise.all(closed);
    const tookMs = performance.now() - openedMs;

    t.log(
      `commands: ${Math.round(median(usual))} ms before, ${Math.round(median(under))} ms meanwhile${isTried ? '' : ' (some after they were cut)'}; ${Math.round(heldMb)} MB for ${IDLE_COUNT} connections; cut after ${Math.round(tookMs)} ms`,
    );
    t.true(tookMs < scaled(HANDSHAKE_MS_MAX + SLACK_MS), `${tookMs} ms`);
    t.true(
      median(under) < scaled(2 * Math.max(median(usual), NOISE_MS)),
      `${median(usual)} ms, then ${median(under)} ms`,
    );
    t.true(heldMb < 128, `${heldMb} MB`);
  },
);

test.serial(
  `${STREAMS_COUNT} streams at once through one agent carry each its own bytes, in bounded memory`,
  async (t) => {
    t.timeout(hangAfter(120_000));
    const port = await hashing(t);
    const pids = [fleet().admin().program.pid, fleet().agent().program.pid];
    const beforeMb = pids.map(memoryMb);
    const streams: Socket[] = [];
    for (let count = 0; count < STREAMS_COUNT; count += 100)
      streams.push(
        ...(await Promise.all(
          Array.from({ length: 100 }, () => streamThrough(fleet().admin().httpProxyPort, `${name}:${port}`)),
        )),
      );
    const eachKb = pids.map((pid, index) => ((memoryMb(pid) - (beforeMb[index] ?? 0)) * 1_024) / STREAMS_COUNT);

    const right = await Promise.all(
      streams.map(async (stream) => {
        const bytes = randomBytes(20_000);
        stream.end(bytes);
        return (await text(stream)) === sha256(bytes);
      }),
    );

    t.log(`${eachKb.map(Math.round).join(' and ')} KB a stream at admin and agent`);
    t.is(right.filter(Boolean).length, STREAMS_COUNT);
    t.true(Math.max(...eachKb) < 100, `${eachKb.join(' and ')} KB`);
  },
);

test.serial('what targets pour into clients that do not read stays with the targets', async (t) => {
  t.timeout(hangAfter(60_000));
  let poured = 0;
  const port = await target(t, (socket) =>
    pour(socket, Buffer.alloc(262_144), (bytes) => {
      poured += bytes;
    }),
  );
  const other = await echo(t);
  const pids = [fleet().admin().program.pid, fleet().agent().program.pid];
  const beforeMb = pids.map(memoryMb);

  const streams = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const stream = await streamThrough(fleet().admin().httpProxyPort, `${name}:${port}`);
      return stream.pause(); // at once: it would read while others are still opened
    }),
  );
  t.teardown(() => {
    for (const stream of streams) stream.destroy();
  });
  await untilStill('no more to be poured', () => poured);
  const grownMb = pids.map((pid, index) => memoryMb(pid) - (beforeMb[index] ?? 0));

  t.true(await requestWorks(other), 'another stream of that tunnel goes on');
  t.log(
    `${Math.round(poured / 1_048_576)} MB poured; ${grownMb.map(Math.round).join(' and ')} MB more at admin and agent`,
  );
  t.true(Math.max(...grownMb) < 64, `${grownMb.join(' and ')} MB`);
});

test.serial('an answer that breaks off is no whole answer', async (t) => {
  const port = await target(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n');
    socket.write(Buffer.alloc(1_000), () => {
      socket.resetAndDestroy();
    });
  });
  const socket = connect(fleet().admin().httpProxyPort, '127.0.0.1');
  const ended = endOf(socket);
  let bytes = 0;
  socket.on('data', (data) => {
    bytes += data.length;
  });
  socket.write(`GET http://${name}:${port}/ HTTP/1.1\r\nHost: ${name}:${port}\r\n${PROXY_AUTHORIZATION}\r\n`);

  const how = await ended;
  t.true(how === 'ECONNRESET' || bytes < 1_000_000, `${how} after ${bytes} bytes`);
});

/** What must not reach anybody: each is refused with its status, and the next request is not taken out of it. */
const FORMS: readonly (readonly [string, string, RegExp])[] = [
  [
    'a length beside chunks',
    'POST http://HOST/ HTTP/1.1\r\nHost: HOST\r\nAUTHContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://HOST/second HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n',
    /^HTTP\/1\.1 400 /u,
  ],
  [
    'two lengths',
    'POST http://HOST/ HTTP/1.1\r\nHost: HOST\r\nAUTHContent-Length: 0\r\nContent-Length: 44\r\n\r\nGET http://HOST/second HTTP/1.1\r\nHost: HOST\r\n\r\n',
    /^HTTP\/1\.1 400 /u,
  ],
  [
    'a strange coding',
    'POST http://HOST/ HTTP/1.1\r\nHost: HOST\r\nAUTHTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    /^HTTP\/1\.1 (?:400|501) /u,
  ],
  ['a header that is folded', 'GET http://HOST/ HTTP/1.1\r\nHost: HOST\r\nAUTHX: a\r\n b\r\n\r\n', /^HTTP\/1\.1 400 /u],
  [
    'a space before a colon',
    'GET http://HOST/ HTTP/1.1\r\nHost: HOST\r\nAUTHContent-Length : 3\r\n\r\nabc',
    /^HTTP\/1\.1 400 /u,
  ],
  ['a line end in the host', 'CONNECT HOST\r\nX: HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n', /^HTTP\/1\.1 400 /u],
  ['a line end in the host, encoded', 'CONNECT a%0d%0aX:1 HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n', /^HTTP\/1\.1 400 /u],
  ['a NUL in a header', 'GET http://HOST/ HTTP/1.1\r\nHost: HOST\r\nAUTHX: a\0b\r\n\r\n', /^HTTP\/1\.1 400 /u],
  [
    'headers of 1 MiB',
    `GET http://HOST/ HTTP/1.1\r\nHost: HOST\r\nX: ${'x'.repeat(1_048_576)}\r\n\r\n`,
    /^(?:HTTP\/1\.1 431 |$)/u,
  ],
  [
    '5,000 headers',
    `GET http://HOST/ HTTP/1.1\r\nHost: HOST\r\nAUTH${Array.from({ length: 5_000 }, (_, index) => `X${index}: x\r\n`).join('')}\r\n`,
    /^(?:HTTP\/1\.1 431 |$)/u,
  ],
  ['a user in the URL', 'GET http://u:p@HOST/ HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n', /^HTTP\/1\.1 400 /u],
];

test.serial('forms of requests that two programs read differently reach nobody', async (t) => {
  const reached: string[] = [];
  const port = await target(t, (socket) => {
    socket.on('data', (data) => {
      reached.push(String(data));
    });
    socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n');
  });
  for (const [what, bytes, wanted] of FORMS) {
    const answer = await exchange(
      fleet().admin().httpProxyPort,
      Buffer.from(bytes.replaceAll('HOST', `${name}:${port}`).replaceAll('AUTH', PROXY_AUTHORIZATION), 'latin1'),
    );
    t.regex(answer, wanted, what);
    t.is(answer.match(/^HTTP\/1\.1/gmu)?.length ?? 0, answer === '' ? 0 : 1, `${what}: one answer`);
  }
  t.deepEqual(reached, []);
  t.is((await connectThrough(fleet().admin().httpProxyPort, `${name}:${port}`)).status, 200);
});

test.serial('any bytes at all on either port are answered or not, and end', async (t) => {
  const begins = fc.constantFrom(
    '',
    '\u0005\u0001\u0002',
    '\u0005\u0001\u0002\u0001\u0001_\u001D',
    `\u0005\u0001\u0002\u0001\u0001_${String.fromCodePoint(FLEET_KEYS.PROXY_KEY.length)}${FLEET_KEYS.PROXY_KEY}\u0005`,
    '\u0004\u0001',
    'CONNECT ',
    `GET http://x/ HTTP/1.1\r\n${PROXY_AUTHORIZATION}`,
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\u0016\u0003\u0001',
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(fleet().admin().httpProxyPort, fleet().admin().socks5ProxyPort),
      begins,
      fc.uint8Array({ maxLength: 600 }),
      async (port, begin, rest) => {
        const answer = await exchange(port, Buffer.concat([Buffer.from(begin, 'latin1'), rest]));
        return !/\bat .*\.(?:ts|js):\d+|^HTTP\/1\.1 (?:2|500)/mu.test(answer);
      },
    ),
    { numRuns: 80 },
  );
  t.pass();
});

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}
