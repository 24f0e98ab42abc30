/** The balancer of the demo: in turns, past whoever does not answer, and what is open over one that is gone is cut. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { Balancer } from '../../../cli/demo/balancer.ts';
import { freePort } from '../../support/free-ports.ts';
import { listening } from '../../support/listening.ts';
import { until } from '../../support/until.ts';

/** Two servers that answer with their name, behind a balancer. */
async function balanced(t: ExecutionContext) {
  const ready = [true, true];
  const refused = [0, 0];
  const servers: Server[] = [];
  const ports: number[] = [];
  for (const name of [0, 1]) {
    const server = createServer((request, answer) => {
      const isRefused = request.url === '/readyz' && ready[name] === false;
      if (isRefused) refused[name] = (refused[name] ?? 0) + 1;
      answer.writeHead(isRefused ? 503 : 200, { connection: 'close' });
      answer.end(String(name));
    });
    server.on('upgrade', (_request, socket) => {
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
  return { ready, refused, servers, front, asked };
}

test('connections go in turns, and past a server that says that it is not ready', async (t) => {
  const { ready, asked } = await balanced(t);

  const both = [await asked(), await asked(), await asked(), await asked()];
  ready[0] = false;
  await until('nothing to go to the first', async () => {
    const answers = await Promise.all([asked(), asked(), asked(), asked()]);
    return answers.every((name) => name === '1');
  });

  t.deepEqual(both.toSorted(), ['0', '0', '1', '1']);
});

test('a server that is gone costs no connection, and what was open over it ends', async (t) => {
  const { servers, front, asked } = await balanced(t);
  const sockets = [0, 1].map(() => connect(front, '127.0.0.1'));
  for (const socket of sockets) {
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    t.regex(answer.toString(), /^HTTP\/1\.1 101/u);
    socket.write('echo');
    const [echo] = (await once(socket, 'data')) as [Buffer];
    t.is(echo.toString(), 'echo');
  }

  const cut = Promise.race(sockets.map((socket) => once(socket, 'close'))); // on a busy machine it comes before the answers
  servers[0]?.close(); // nobody new; what is open stays, as with a process that stands still
  const answers = [await asked(), await asked(), await asked(), await asked()];
  await cut;

  t.deepEqual(answers, ['1', '1', '1', '1']);
  t.is(sockets.filter(({ destroyed }) => destroyed).length, 1);
});

test('where nobody was seen to be up, whoever takes the connection has it', async (t) => {
  const { ready, refused, asked } = await balanced(t);
  ready.fill(false);
  await until('both to have been seen as not ready', () => refused.every((checks) => checks > 1)); // the second check follows the first

  t.regex(await asked(), /^[01]$/u);
});
