/**
 * Connections to one receiver. Each carries one request at a time, so one that hangs holds up no other, and its end is
 * the end of one request only.
 */
import { Client, type buildConnector } from 'undici';
import { ANSWER_HEADER_BYTES_MAX, KEEP_ALIVE_MARGIN_MS, KEEP_ALIVE_MS, KEEP_ALIVE_MS_MAX } from './limits.ts';

/** A connection, open or to be opened when it is used. */
export interface Lane {
  readonly client: Client;
  /** Requests that the present connection has carried. */
  carried: number;
}

/** Who waits for a lane. */
export interface Rider {
  ride(lane: Lane): void;
}

/** At most so many lanes; who finds none free waits in line. */
export interface Lanes {
  /** Calls `ride`, now or when a lane is free. */
  take(rider: Rider): void;
  /** Leaves the line. */
  leave(rider: Rider): void;
  /** Gives a lane back after a whole answer. */
  release(lane: Lane): void;
  /** Ends a lane with what is under way on it; the next rider gets a new one. */
  drop(lane: Lane): void;
  /** The same for a lane whose connection was just closed: its rider gets the new one. */
  replace(lane: Lane, rider: Rider): void;
  /** From now on nobody gets a lane. */
  shut(): void;
  /** Ends all. Resolves when the sockets are closed. */
  destroy(): Promise<void>;
}

/**
 * Lanes to an origin. Timeouts are the riders' own: undici's are looked at twice a second, and begin anew with each
 * byte.
 */
export function createLanes(origin: string, connect: buildConnector.connector, connectionsMax: number): Lanes {
  const all = new Set<Lane>();
  const free: Lane[] = [];
  const line: Rider[] = [];
  let isShut = false;

  function opened(): Lane {
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
    const lane: Lane = { client, carried: 0 };
    client.on('connect', () => {
      lane.carried = 0;
    });
    all.add(lane);
    return lane;
  }

  function serveNext(): void {
    const rider = isShut ? undefined : line.shift();
    if (rider !== undefined) rider.ride(free.pop() ?? opened());
  }

  return {
    take(rider) {
      const lane = free.pop(); // the one used last: others get idle and are closed
      if (lane !== undefined) rider.ride(lane);
      else if (all.size < connectionsMax) rider.ride(opened());
      else line.push(rider);
    },
    leave(rider) {
      const at = line.indexOf(rider);
      if (at !== -1) line.splice(at, 1);
    },
    release(lane) {
      lane.carried += 1;
      free.push(lane);
      serveNext();
    },
    drop(lane) {
      if (!all.delete(lane)) return;
      void lane.client.destroy();
      serveNext();
    },
    replace(lane, rider) {
      all.delete(lane);
      void lane.client.destroy();
      rider.ride(opened());
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
