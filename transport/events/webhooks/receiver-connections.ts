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

/** At most so many connections; who finds none free waits in line. */
export interface ReceiverConnections {
  /** Calls `useConnection`, now or when a connection is free. */
  take(user: ConnectionUser): void;
  /** Leaves the line. */
  leave(user: ConnectionUser): void;
  /** Gives a connection back after a whole answer. */
  release(connection: ReceiverConnection): void;
  /** Ends a connection with what is under way on it; the next user gets a new one. */
  drop(connection: ReceiverConnection): void;
  /** The same for a connection that was just closed: its user gets the new one. */
  replace(connection: ReceiverConnection, user: ConnectionUser): void;
  /** From now on nobody gets a connection. */
  shut(): void;
  /** Ends all. Resolves when the sockets are closed. */
  destroy(): Promise<void>;
}

/**
 * Connections to an origin. Timeouts are the users' own: undici's are looked at twice a second, and begin anew with each
 * byte.
 */
export function createReceiverConnections(
  origin: string,
  connect: buildConnector.connector,
  connectionsMax: number,
): ReceiverConnections {
  const all = new Set<ReceiverConnection>();
  const free: ReceiverConnection[] = [];
  const line: ConnectionUser[] = [];
  let isShut = false;

  function opened(): ReceiverConnection {
    const client = new Client(origin, {
      connect,
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
    all.add(connection);
    return connection;
  }

  function serveNext(): void {
    const user = isShut ? undefined : line.shift();
    if (user !== undefined) user.useConnection(free.pop() ?? opened());
  }

  return {
    take(user) {
      const connection = free.pop(); // the one used last: others get idle and are closed
      if (connection !== undefined) user.useConnection(connection);
      else if (all.size < connectionsMax) user.useConnection(opened());
      else line.push(user);
    },
    leave(user) {
      const at = line.indexOf(user);
      if (at !== -1) line.splice(at, 1);
    },
    release(connection) {
      connection.carried += 1;
      free.push(connection);
      serveNext();
    },
    drop(connection) {
      if (!all.delete(connection)) return;
      void connection.client.destroy();
      serveNext();
    },
    replace(connection, user) {
      all.delete(connection);
      void connection.client.destroy();
      user.useConnection(opened());
    },
    shut() {
      isShut = true;
    },
    async destroy() {
      const ending = [...all].map(({ client }) => client.destroy());
      all.clear();
      await Promise.all(ending);
    },
  };
}
