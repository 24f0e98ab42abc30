/** What Netmaker answers costs an admin no more than it may (L2), whoever answers under its URL. */
import test, { type ExecutionContext } from 'ava';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { VpnRefused, VpnUnavailable } from '../../../actors/vpn/vpn.ts';
import { ANSWER_ENTRIES_MAX } from '../../../transport/vpn/netmaker/answers.ts';
import { NetmakerClient } from '../../../transport/vpn/netmaker/client.ts';
import { ANSWER_DEPTH_MAX } from '../../../transport/vpn/netmaker/json.ts';
import {
  NetmakerRequests,
  REASON_READ_CHARACTERS_MAX,
  REFUSAL_BYTES_MAX,
  tellable,
} from '../../../transport/vpn/netmaker/requests.ts';

/** Answers each path as it is told, counted, in a thread of its own: what it costs is not measured. */
const SERVER = `
  const { parentPort, workerData } = require('node:worker_threads');
  let asked = 0;
  const server = require('node:http').createServer((request, response) => {
    if (request.url === '/asked') return response.end(String(asked));
    asked += 1;
    const { status = 200, head = '', piece = '', times = 0, tail = '' } = workerData[request.url];
    response.writeHead(status).end(Buffer.concat([Buffer.from(head), Buffer.alloc(piece.length * times, piece), Buffer.from(tail)]));
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

interface Body {
  readonly status?: number;
  readonly head?: string;
  readonly piece?: string;
  readonly times?: number;
  readonly tail?: string;
}

async function open(t: ExecutionContext, bodies: Readonly<Record<string, Body>>) {
  const server = new Worker(SERVER, { eval: true, workerData: bodies });
  t.teardown(() => server.terminate());
  const [port] = (await once(server, 'message')) as [number];
  const url = `http://127.0.0.1:${port}`;
  const requests = new NetmakerRequests({ url, masterKey: 'secret-of-netmaker' });
  t.teardown(() => requests.close());
  return {
    client: new NetmakerClient(requests),
    asked: async () => Number(await (await fetch(`${url}/asked`)).text()),
  };
}

/** So many times what receiving an answer that is read takes. Seen: a third; without bounds, 12 times and more. */
const COST_MAX = 2;

/** Processor time of this thread alone, in ms: what the event loop stands still for at most. */
async function threadMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

test.serial('64 MiB of tiny values cost no more than receiving them, and are not asked for again', async (t) => {
  const { client, asked } = await open(t, {
    '/api/networks': { head: '[', piece: ' ', times: 64 * 2 ** 20 - 4, tail: ']' },
    '/api/hosts': { head: '[', piece: '0,', times: 32 * 2 ** 20 - 2, tail: '0]' },
  });
  const receivingMs = await threadMsOf(() => client.networks());

  const ms = await threadMsOf(() =>
    t.throwsAsync(client.hosts(), {
      instanceOf: VpnUnavailable,
      message: 'Netmaker answered to listing hosts with more than is read.',
    }),
  );

  t.true(ms < COST_MAX * receivingMs, `it took ${ms} ms, and receiving as much ${receivingMs} ms`);
  t.is(await asked(), 2);
});

test.serial('a refusal of 8 MiB costs no more than receiving it, and is told without its words', async (t) => {
  const { client } = await open(t, {
    '/api/networks': { head: '[', piece: ' ', times: 8 * 2 ** 20, tail: ']' },
    '/api/hosts': { status: 500, head: '{"Message":"no rows ', piece: '10.0.0.1 ', times: 932_067, tail: '"}' },
    '/api/nodes': { status: 500, head: '{"Message":"no rows ', piece: 'x', times: REFUSAL_BYTES_MAX - 22, tail: '"}' },
  });
  t.deepEqual(await client.nodes(null), [], 'the words of a shorter one are looked at');
  const receivingMs = await threadMsOf(() => client.networks());

  const ms = await threadMsOf(() =>
    t.throwsAsync(client.hosts(), { instanceOf: VpnRefused, message: 'Netmaker refused listing hosts (500).' }),
  );

  t.true(ms < COST_MAX * receivingMs, `it took ${ms} ms, and receiving as much ${receivingMs} ms`);
});

test.serial(
  'a list that is too long, or lies too deep, is not read, and one that is as long as it may be is',
  async (t) => {
    const { client } = await open(t, {
      '/api/hosts': { head: '[', piece: '0,', times: ANSWER_ENTRIES_MAX - 1, tail: '{"id":"one"}]' },
      '/api/nodes': { head: '[', piece: '0,', times: ANSWER_ENTRIES_MAX, tail: '{"id":"one"}]' },
      '/api/dns': { head: '['.repeat(ANSWER_DEPTH_MAX + 1), tail: ']'.repeat(ANSWER_DEPTH_MAX + 1) },
    });

    t.deepEqual(
      (await client.hosts()).map(({ id }) => id),
      ['one'],
    );
    await t.throwsAsync(client.nodes(null), {
      instanceOf: VpnUnavailable,
      message: `Netmaker answered to listing nodes with more than ${ANSWER_ENTRIES_MAX} entries.`,
    });
    await t.throwsAsync(client.dns(null), { instanceOf: VpnUnavailable, message: /with more than is read/u });
  },
);

test.serial('of a long reason its beginning is looked at, and what is cut off in the middle is left out', (t) => {
  const address = '100.64.0.7';
  const words = 'é'.repeat(REASON_READ_CHARACTERS_MAX - 6);

  t.is(tellable(`${words} ${address} and so on`), '');
  t.is(tellable(`no ${words} ${address}`), 'no');
  t.is(tellable(`secret secret ${'x '.repeat(REASON_READ_CHARACTERS_MAX)}`, 'secret').slice(0, 7), '… … x x');
});
