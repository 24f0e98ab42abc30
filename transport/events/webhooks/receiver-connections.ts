/**
 * Connections to one receiver. Each carries one request at a time, so one that hangs holds up no other, and its end is
 * the end of one request only.
 */
import { Client, type buildConnector } from 'undici';
import { ANSWER_HEADER_BYTES_MAX, KEEP_ALIVE_MARGIN_MS, KEEP_ALIVE_MS, KEEP_ALIVE_MS_MAX } from './limits.ts';

/** A connection, open or to be opened when it is used. */
export interface ReceiverConnection {
  readonly client: Client;
  /** Requests that the present connection has carried. */
  carried: number;
}

/** Who waits for a connection. */
export interface ConnectionUser {
  useConnection(connection: ReceiverConnection): void;
}

/**
 * Connections to an origin, at most so many; who finds none free waits in line. Timeouts are the users' own: undici's
 * are looked at twice a second, and begin anew with each byte.
 */
export class ReceiverConnections {
  readonly #origin: string;
  readonly #connect: buildConnector.connector;
  readonly #connectionsMax: number;
  readonly #all = new Set<ReceiverConnection>();
  readonly #free: ReceiverConnection[] = [];
  readonly #line: ConnectionUser[] = [];
  #isShut = false;

  constructor(origin: string, connect: buildConnector.connector, connectionsMax: number) {
    this.#origin = origin;
    this.#connect = connect;
    this.#connectionsMax = connectionsMax;
  }

  /** Calls `useConnection`, now or when a connection is free. */
  take(user: ConnectionUser): void {
    const connection = this.#free.pop(); // the one used last: others get idle and are closed
    if (connection !== undefined) user.useConnection(connection);
    else if (this.#all.size < this.#connectionsMax) user.useConnection(this.#opened());
    else this.#line.push(user);
  }

  /** Leaves the line. */
  leave(user: ConnectionUser): void {
    const at = this.#line.indexOf(user);
    if (at !== -1) this.#line.splice(at, 1);
  }

  /** Gives a connection back after a whole answer. */
  release(connection: ReceiverConnection): void {
    connection.carried += 1;
    this.#free.push(connection);
    this.#serveNext();
  }

  /** Ends a connection with what is under way on it; the next user gets a new one. */
  drop(connection: ReceiverConnection): void {
    if (!this.#all.delete(connection)) return;
    void connection.client.destroy();
    this.#serveNext();
  }

  /** The same for a connection that was just closed: its user gets the new one. */
  replace(connection: ReceiverConnection, user: ConnectionUser): void {
    this.#all.delete(connection);
    void connection.client.destroy();
    user.useConnection(this.#opened());
  }

  /** From now on nobody gets a connection. */
  shut(): void {
    this.#isShut = true;
  }

  /** Ends all. Resolves when the sockets are closed. */
  async destroy(): Promise<void> {
    const ending = [...this.#all].map(({ client }) => client.destroy());
    this.#all.clear();
    await Promise.all(ending);
  }

  #serveNext(): void {
    const user = this.#isShut ? undefined : this.#line.shift();
    if (user !== undefined) user.useConnection(this.#free.pop() ?? this.#opened());
  }

  #opened(): ReceiverConnection {
    const client = new Client(this.#origin, {
      connect: this.#connect,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: ANSWER_HEADER_BYTES_MAX,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS_MAX,
      keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
      allowH2: false,
    });
    const connection: ReceiverConnection = { client, carried: 0 };
    client.on('connect', () => {
      connection.carried = 0;
    });
    this.#all.add(connection);
    return connection;
  }
}
