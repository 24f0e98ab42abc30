/** The balancer of the demo: in turns, past whoever does not answer, and what is open over one that is gone is cut. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { Balancer } from '../../../cli/demo/balancer.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { listening } from '../../support/net/listening.ts';
import { until } from '../../support/until.ts';

/** A server that does not take a connection within this is passed over, in ms. Source: cli/demo/balancer.ts. */
const DIAL_MS_MAX = 1_000;

/** How often what this process was held up beside is done again; and sockets until both servers have one. */
const TRIES_MAX = 20;

/** What it gives, unless this process was held up so long meanwhile that servers may have been passed over for it. */
async function inTime<T>(act: () => Promise<T>): Promise<T | null> {
  const beganMs = performance.now();
  try {
    const made = await act();
    return performance.now() - beganMs < DIAL_MS_MAX ? made : null;
  } catch (error) {
    if (performance.now() - beganMs < DIAL_MS_MAX) throw error;
    return null;
  }
}

/** What came in time, of so many tries. Rejects as what came in time does. */
async function untilInTime<T>(act: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const made = await inTime(act);
    if (made !== null) return made;
  }
  throw new Error(`nothing came within ${DIAL_MS_MAX} ms, ${TRIES_MAX} times`);
}

/** Two servers that answer with their name, behind a balancer. */
async function balanced(t: ExecutionContext) {
  const ready = [true, true];
  const refused = [0, 0];
  const upgraded: readonly [Duplex[], Duplex[]] = [[], []];
  const servers: Server[] = [];
  const ports: number[] = [];
  for (const name of [0, 1] as const) {
    const server = createServer((request, answer) => {
      const isRefused = request.url === '/readyz' && ready[name] === false;
      if (isRefused) refused[name] = (refused[name] ?? 0) + 1;
      answer.writeHead(isRefused ? 503 : 200, { connection: 'close' });
      answer.end(String(name));
    });
    server.on('upgrade', (_request, socket) => {
      upgraded[name].push(socket);
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      socket.pipe(socket);
    });
    servers.push(server);
    ports.push(await listening(t, server));
  }
  const front = await freePort();
  const balancer = await Balancer.open(
    [front],
    ports.map((port) => ({ checkUrl: `http://127.0.0.1:${port}/readyz`, ports: [port] })),
  );
  t.teardown(() => balancer.close());
  const asked = async (): Promise<string> => (await fetch(`http://127.0.0.1:${front}/`)).text();
  return { ready, refused, upgraded, servers, front, asked };
}

test('connections go in turns, and past a server that says that it is not ready', async (t) => {
  const { ready, asked } = await balanced(t);

  const both = await until('both to be gone to', async () => {
    if ((await asked()) === (await asked())) return null;
    return inTime(async () => [await asked(), await asked(), await asked(), await asked()]);
  });
  ready[0] = false;
  await until('nothing to go to the first', async () => {
    const answers = await Promise.all([asked(), asked(), asked(), asked()]);
    return answers.every((name) => name === '1');
  });

  t.deepEqual(both.toSorted(), ['0', '0', '1', '1']);
});

test('a server that is gone costs no connection, and what was open over it ends', async (t) => {
  const { upgraded, servers, front, asked } = await balanced(t);
  const sockets: Socket[] = [];
  while (upgraded.some(({ length }) => length === 0) && sockets.length < TRIES_MAX) {
    const socket = connect(front, '127.0.0.1');
    sockets.push(socket);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    t.regex(answer.toString(), /^HTTP\/1\.1 101/u);
    socket.write('echo');
    const [echo] = (await once(socket, 'data')) as [Buffer];
    t.is(echo.toString(), 'echo');
  }

  t.true(
    upgraded.every(({ length }) => length > 0),
    `${sockets.length} sockets`,
  );
  servers[0]?.close(); // nobody new; what is open stays, as with a process that stands still
  const answers: string[] = [];
  while (answers.length < 4) answers.push(await untilInTime(asked));
  await until('the end of what was open over it', () => {
    const ended = sockets.filter(({ destroyed }) => destroyed);
    return upgraded[0].every(({ destroyed }) => destroyed) && ended.length === upgraded[0].length;
  });

  t.deepEqual(answers, ['1', '1', '1', '1']);
  t.true(upgraded[1].every(({ destroyed }) => !destroyed));
});

test('where nobody was seen to be up, whoever takes the connection has it', async (t) => {
  const { ready, refused, asked } = await balanced(t);
  ready.fill(false);
  await until('both to have been seen as not ready', () => refused.every((checks) => checks > 1)); // the second check follows the first

  t.regex(await untilInTime(asked), /^[01]$/u);
});
