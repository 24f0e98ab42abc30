/** One database on several hosts: which of them takes writes now, found before each connection is dialled. */
import { Socket } from 'node:net';
import type { PoolConfig } from 'pg';
import type { Log } from '../../transport/net/log.ts';
import type { DatabasePlace } from '../../settings/database-url.ts';
import { isUnavailable } from './availability.ts';
import { DatabaseClient } from './database-client.ts';

/** How long one host may take to say whether it takes writes, in ms: then the next one is asked. */
export const HOST_MS_MAX = 1_000;

/** For so long what was found holds without a question, in ms, unless a connection to it is lost. */
const FOUND_MS_MAX = 1_000;

/** For so long nobody is asked again who was just asked in vain, in ms. */
const IN_VAIN_MS = 100;

/**
 * Nothing says more than that the session may write: a standby says no, and so does a server that was made read-only.
 */
const MAY_WRITE = 'show transaction_read_only';

interface Answer {
  readonly place: Promise<DatabasePlace>;
  /** Null: it is still searched. */
  untilMs: number | null;
}

/** The hosts of one database. All connections of a process that are opened through it go to the same one. */
export class ReadWriteHost {
  readonly #places: readonly DatabasePlace[];
  readonly #optionsOf: (place: DatabasePlace) => PoolConfig;
  readonly #log: Log;
  readonly #monotonicMs: () => number;
  /** Connections, and where each goes. */
  readonly #open = new Map<Socket, DatabasePlace>();
  /** Asked first the next time. */
  #last: DatabasePlace | null = null;
  #answer: Answer | null = null;

  /** `optionsOf`: of a connection to one of them. */
  constructor(
    places: readonly DatabasePlace[],
    optionsOf: (place: DatabasePlace) => PoolConfig,
    log: Log,
    monotonicMs: () => number = () => performance.now(),
  ) {
    this.#places = places;
    this.#optionsOf = optionsOf;
    this.#log = log;
    this.#monotonicMs = monotonicMs;
  }

  /**
   * The first host that takes writes, the one of before first. Those who ask at once share the search, and its answer
   * holds for a moment. Rejects as a refused connection does where none takes writes, and with what a host says that is
   * wrong for good, such as the password.
   */
  find(): Promise<DatabasePlace> {
    const known = this.#answer;
    if (known !== null && (known.untilMs ?? Infinity) > this.#monotonicMs()) return known.place;
    const searched: Answer = { place: this.#search(), untilMs: null };
    this.#answer = searched;
    const holdsFor = (ms: number) => (): void => {
      searched.untilMs = this.#monotonicMs() + ms;
    };
    searched.place.then(holdsFor(FOUND_MS_MAX), holdsFor(IN_VAIN_MS));
    return searched.place;
  }

  /**
   * This connection goes there. When it is lost, whether that host still takes writes is asked at once: where another
   * one does by then, connections to a host that stands still are not waited for, one after the other.
   */
  opened(socket: Socket, place: DatabasePlace): void {
    this.#open.set(socket, place);
    socket.once('close', () => {
      this.#open.delete(socket);
      if (this.#answer?.untilMs != null) this.#answer = null;
      if (this.#open.size > 0) this.find().catch(() => {}); // whoever needs it is told
    });
  }

  /** A socket that goes to the host that takes writes, wherever it is told to go. */
  socket(): Socket {
    return new FoundSocket(this);
  }

  async #search(): Promise<DatabasePlace> {
    const before = this.#last;
    const order = before === null ? this.#places : [before, ...this.#places.filter((place) => place !== before)];
    const reasons: string[] = [];
    let wrong: unknown;
    for (const place of order) {
      try {
        if (await this.#takesWrites(place)) return this.#found(place);
        reasons.push(`${written(place)} takes no writes`);
      } catch (error) {
        if (!isUnavailable(error)) wrong ??= error;
        reasons.push(`${written(place)}: ${(error as Error).message}`);
      }
    }
    throw wrong ?? new NoHostTakesWrites(reasons);
  }

  #found(place: DatabasePlace): DatabasePlace {
    if (this.#last !== null && this.#last !== place)
      this.#log.warn({ host: place.host, port: place.port }, 'the database takes writes at another host now');
    this.#last = place;
    for (const [socket, to] of this.#open) if (to !== place) socket.destroy(new MovedOn());
    return place;
  }

  async #takesWrites(place: DatabasePlace): Promise<boolean> {
    const client = new DatabaseClient({
      ...this.#optionsOf(place),
      connectionTimeoutMillis: HOST_MS_MAX,
      query_timeout: HOST_MS_MAX,
    });
    client.on('error', () => {}); // told by what was asked
    const ended = AbortSignal.timeout(HOST_MS_MAX);
    try {
      await client.connect();
      const { rows } = await client.query<{ transaction_read_only: string }>(MAY_WRITE);
      return rows[0]?.transaction_read_only === 'off' && !ended.aborted;
    } finally {
      void client.end().catch(() => {});
    }
  }
}

/** No host of the database takes writes now. */
class NoHostTakesWrites extends Error {
  override readonly name = 'NoHostTakesWrites';
  /** As a connection that is refused: nobody is there for now. */
  readonly code = 'ECONNREFUSED';

  constructor(reasons: readonly string[]) {
    super(`no host of DATABASE_URL takes writes (${reasons.join('; ')})`);
  }
}

/** Another host takes writes now. */
class MovedOn extends Error {
  override readonly name = 'MovedOn';
  readonly code = 'ECONNRESET';

  constructor() {
    super('the database takes writes at another host now');
  }
}

class FoundSocket extends Socket {
  readonly #hosts: ReadWriteHost;

  constructor(hosts: ReadWriteHost) {
    super();
    this.#hosts = hosts;
  }

  override connect(): this {
    void this.#dial();
    return this;
  }

  async #dial(): Promise<void> {
    try {
      const place = await this.#hosts.find();
      const { host, port } = place;
      if (this.destroyed) return;
      this.#hosts.opened(this, place);
      if (host.startsWith('/')) super.connect(`${host}/.s.PGSQL.${port}`);
      else super.connect(port, host);
    } catch (error) {
      this.destroy(error as Error);
    }
  }
}

function written({ host, port }: DatabasePlace): string {
  return `${host}:${port}`;
}
