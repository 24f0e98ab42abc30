/**
 * Worker: systems that ask machines through an admin, and do not know which of them lie: each of their metrics and
 * diagnoses, and a connection through the proxy, over and over.
 */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { serveQuestions } from '../method/worker.ts';
import { createHttpClient } from './http-client.ts';

/** Pause between two questions of one asker to one machine, in ms. */
const PAUSE_MS = 200;

/** A connection through the proxy is left open for so long, in ms. */
const CONNECTED_MS = 500;

/** Who is asked. */
export interface Asked {
  readonly port: number;
  readonly proxyPort: number;
  readonly key: string;
  readonly nodes: readonly { readonly node: string; readonly host: string }[];
}

/** Those who ask now, and how often each answer came. */
interface Round {
  isOn: boolean;
  readonly answers: Map<string, number>;
}

let asking: Round = { isOn: false, answers: new Map() };

/** The first line of what a proxy said, or that it said nothing. */
function throughProxy(port: number, key: string, authority: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const user = Buffer.from(`_:${key}`).toString('base64');
  const socket = connect(port, '127.0.0.1', () =>
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\nproxy-authorization: Basic ${user}\r\n\r\n`),
  );
  socket.once('data', (said: Buffer) => {
    resolve(said.toString().split(' ')[1] ?? '');
    socket.resume();
    setTimeout(() => socket.destroy(), CONNECTED_MS);
  });
  socket.on('error', () => {}); // `close` follows
  socket.on('close', () => resolve('cut'));
  return promise;
}

serveQuestions({
  ask: ({ port, proxyPort, key, nodes }: Asked) => {
    const mine: Round = { isOn: true, answers: new Map() };
    asking = mine;
    const over = async (what: string, ask: () => Promise<string | number>): Promise<void> => {
      for (; mine.isOn; await delay(PAUSE_MS)) {
        const answered = `${what}: ${await ask()}`;
        mine.answers.set(answered, (mine.answers.get(answered) ?? 0) + 1);
      }
    };
    for (const { node, host } of nodes) {
      const client = createHttpClient(port, key);
      const get = (path: string) => async () => (await client.request('GET', `/api/v1/nodes/${node}${path}`)).status;
      void over('host metrics', get('/metrics/host/raw'));
      void over('agent metrics', get('/metrics/agent/raw'));
      void over('metrics as records', get('/metrics'));
      void over('diagnosis', get('/diagnostics'));
      void over('connection', () => throughProxy(proxyPort, key, `${host}:1`));
    }
  },
  /** Stops asking; answers how often each answer came. */
  told: () => {
    asking.isOn = false;
    return Object.fromEntries(asking.answers);
  },
});
