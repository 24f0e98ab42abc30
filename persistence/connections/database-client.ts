/** The one client of PostgreSQL: what a server says ends at most the connection on which it says that. */
import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import { Client, type ClientConfig } from 'pg';
import { AnswerFrames } from './answer-frames.ts';

/**
 * How long a server may take to end a connection to which it was said goodbye, in ms. One that is silent would never,
 * and whoever closes the connection waits for that: a pool too, before it tells why a new one cannot be had.
 */
export const GOODBYE_MS_MAX = 1_000;

/** What `pg` 8 has in a client and its connection, and its types do not tell. */
interface ConnectionInside extends EventEmitter {
  readonly stream: Duplex;
  end(): void;
  attachListeners(stream: Duplex): void;
}
interface ClientInside {
  readonly connection: ConnectionInside;
  // eslint-disable-next-line no-underscore-dangle -- as pg calls it
  _getPassword(use: () => void): void;
}

/**
 * As the client of `pg`, whose parser throws within the socket's own events at what it cannot read, which would end the
 * process. Here such a connection is lost: whoever waits for it is told as of one that the server reset, and what
 * became of a commit is in doubt. One that is ended is over within GOODBYE_MS_MAX, whatever the server does. To be used
 * in every place where a server is dialled; pools take it by `placeDatabase`.
 */
export class DatabaseClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    const inside = this as unknown as ClientInside;
    const { connection } = inside;
    const attach = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => {
      attach(stream);
      containReaders(stream);
    };
    const sayGoodbye = connection.end.bind(connection);
    connection.end = () => {
      sayGoodbye();
      const late = setTimeout(() => connection.stream.destroy(), GOODBYE_MS_MAX);
      connection.once('end', () => clearTimeout(late));
    };
    // Answered later, when a password was looked for: a server may ask for one where none is set.
    // eslint-disable-next-line no-underscore-dangle -- as pg calls it
    const ask = inside._getPassword.bind(inside);
    // eslint-disable-next-line no-underscore-dangle -- as pg calls it
    inside._getPassword = (use) => ask(() => contain(connection.stream, use));
  }
}

/** A server said what no client can read, or asked for what this one does not have. */
class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
  /** As of a connection that the server reset: it may be another one the next time. */
  readonly code = 'ECONNRESET';

  constructor(cause: unknown) {
    super(`the database said what cannot be read (${cause instanceof Error ? cause.message : String(cause)})`, {
      cause,
    });
  }
}

/** Of what `pg` reads: an answer that it throws at, or would loop in, ends the stream, and nothing is read after it. */
function containReaders(stream: Duplex): void {
  const frames = new AnswerFrames();
  for (const read of stream.listeners('data') as ((bytes: Buffer) => void)[]) {
    stream.off('data', read);
    stream.on('data', (bytes: Buffer) => {
      if (stream.destroyed) return;
      contain(stream, () => {
        frames.check(bytes);
        read(bytes);
      });
    });
  }
}

function contain(stream: Duplex, work: () => void): void {
  try {
    work();
  } catch (error) {
    stream.destroy(new UnreadableAnswer(error));
  }
}
