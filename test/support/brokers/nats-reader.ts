/**
 * A client of NATS in the raw protocol: what it reads is what is on the wire, with no code in common with the client
 * under test.
 */
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';

/** Fields of CONNECT that say who comes; the server's nonce is what a key signs. */
export type ReaderSignIn = (nonce: string) => object;

/** One message as it came. Headers as text, empty where there are none. */
export interface NatsMessage {
  readonly subject: string;
  readonly headers: string;
  readonly text: string;
}

/** A subscribed client. */
export interface NatsReader {
  /** Everything that came so far, in order. */
  readonly messages: readonly NatsMessage[];
  /** Asks the server (JetStream's API) and parses the answer. */
  ask(subject: string, body?: object): Promise<Record<string, unknown>>;
}

/** Connects, signs in and subscribes. The server has taken the subscriptions when it resolves. */
export async function readNats(
  scope: Scope,
  {
    port,
    ca,
    signIn,
    subjects,
  }: { port: number; ca: string | null; signIn: ReaderSignIn; subjects: readonly string[] },
): Promise<NatsReader> {
  const plain = connect({ host: '127.0.0.1', port });
  scope.teardown(() => {
    plain.destroy();
  });
  const hello = await firstLine(plain);
  const socket = ca === null ? plain : connectTls({ socket: plain, ca: await readFile(ca), servername: 'localhost' });
  scope.teardown(() => {
    socket.destroy();
  });

  const messages: NatsMessage[] = [];
  const answers = new Map<string, string>();
  let rest = Buffer.alloc(0);
  let problem = '';
  let pongs = 0;
  socket.on('error', (error) => {
    problem = error.message;
  });
  socket.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk as Buffer]);
    for (;;) {
      const end = rest.indexOf('\r\n');
      if (end === -1) return;
      const words = rest.subarray(0, end).toString().split(' ');
      const [headerBytes, bytes] =
        words[0] === 'HMSG' ? [Number(words.at(-2)), Number(words.at(-1))] : [0, Number(words.at(-1))];
      const isMessage = words[0] === 'MSG' || words[0] === 'HMSG';
      const next = isMessage ? end + 2 + bytes + 2 : end + 2;
      if (rest.length < next) return;
      const body = rest.subarray(end + 2, next - 2);
      rest = rest.subarray(next);
      if (words[0] === 'PING') socket.write('PONG\r\n');
      if (words[0] === 'PONG') pongs += 1;
      if (words[0] === '-ERR') problem = words.join(' ');
      if (!isMessage) continue;
      const message = {
        subject: words[1] ?? '',
        headers: body.subarray(0, headerBytes).toString(),
        text: body.subarray(headerBytes).toString(),
      };
      if (message.subject.startsWith('_answer.')) answers.set(message.subject, message.text);
      else messages.push(message);
    }
  });
  socket.write(
    `CONNECT ${JSON.stringify({ verbose: false, pedantic: false, lang: 'tests', version: '1', headers: true, ...signIn(hello.nonce ?? '') })}\r\n`,
  );
  for (const [index, subject] of ['_answer.*', ...subjects].entries()) socket.write(`SUB ${subject} ${index + 1}\r\n`);
  socket.write('PING\r\n');
  await until('the reader at NATS', () => {
    if (problem !== '') throw new Error(problem);
    return pongs > 0;
  });
  let asked = 0;
  return {
    messages,
    async ask(subject, body) {
      const reply = `_answer.${(asked += 1)}`;
      const text = body === undefined ? '' : JSON.stringify(body);
      socket.write(`PUB ${subject} ${reply} ${Buffer.byteLength(text)}\r\n${text}\r\n`);
      return JSON.parse(await until(`an answer to ${subject}`, () => answers.get(reply))) as Record<string, unknown>;
    },
  };
}

/** The texts of all that is in a stream, in order. */
export async function storedIn(reader: NatsReader, stream: string): Promise<readonly string[]> {
  const info = (await reader.ask(`$JS.API.STREAM.INFO.${stream}`)) as { readonly state: { readonly messages: number } };
  const rows = await Promise.all(
    Array.from({ length: info.state.messages }, async (_, index) =>
      reader.ask(`$JS.API.STREAM.MSG.GET.${stream}`, { seq: index + 1 }),
    ),
  );
  return rows.map((row) => Buffer.from((row['message'] as { data: string }).data, 'base64').toString());
}

async function firstLine(socket: Socket): Promise<{ nonce?: string }> {
  let text = '';
  const onData = (chunk: Buffer): void => {
    text += chunk.toString();
  };
  socket.on('data', onData);
  await until('the first line of NATS', () => text.includes('\r\n'));
  socket.off('data', onData);
  return JSON.parse(text.slice('INFO '.length)) as { nonce?: string };
}
