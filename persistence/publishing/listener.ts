/** Hears what the database notifies, on a connection of its own, and says so when something may have been missed. */
import { Client, type PoolConfig } from 'pg';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';

/** Waits before a lost connection is tried again, in ms: the first, and the longest. */
const RETRY_MS = 250;
const RETRY_MS_MAX = 5_000;

/**
 * How often the connection is asked whether it is there, and how long it may take to say so, in ms. Nothing is ever
 * sent on it otherwise: one that a firewall has forgotten would be silent for hours, and what admins say to each other
 * comes by it alone.
 */
const BEAT_MS = 5_000;
const BEAT_ANSWER_MS_MAX = 5_000;

/** Who listens. */
export interface Listener {
  /**
   * A notification, with its payload. Null: the connection is new, and anything may have been missed while there was
   * none.
   */
  onNotice(run: (channel: string, payload: string | null) => void): void;
  stop(): Promise<void>;
}

/** Listens to these channels until it is stopped. A lost connection is dialled again, for ever. */
export function startListener(connection: PoolConfig, channels: readonly string[], clock: Clock, log: Log): Listener {
  const listeners: ((channel: string, payload: string | null) => void)[] = [];
  let client: Client | null = null;
  let stopped = false;
  let cancelRetry = (): void => {};
  let cancelBeat = (): void => {};
  let connecting: Promise<void> = Promise.resolve();

  function tell(channel: string, payload: string | null): void {
    for (const listener of listeners) listener(channel, payload);
  }

  async function connect(afterMs: number): Promise<void> {
    const dialled = new Client({ ...connection, keepAlive: true });
    client = dialled;
    let isLost = false;
    const lost = (): void => {
      if (isLost || stopped) return;
      isLost = true;
      cancelBeat();
      dialled.removeAllListeners();
      dialled.on('error', () => {}); // it is given up already
      void dialled.end().catch(() => {}); // so is its end
      cancelRetry = clock.after(afterMs, () => {
        connecting = connect(Math.min(RETRY_MS_MAX, afterMs * 2));
      });
    };
    const rest = (): void => {
      cancelBeat = clock.after(BEAT_MS, () => void beat());
    };
    const beat = async (): Promise<void> => {
      cancelBeat = clock.after(BEAT_ANSWER_MS_MAX, lost);
      try {
        await dialled.query(`listen ${channels[0]}`);
      } catch {
        return lost();
      }
      if (isLost || stopped) return undefined;
      cancelBeat();
      return rest();
    };
    dialled.on('error', (error) => {
      log.debug({ error: error.message }, 'lost the connection that listens to the database');
      lost();
    });
    dialled.on('end', lost);
    dialled.on('notification', ({ channel, payload }) => tell(channel, payload ?? ''));
    try {
      await dialled.connect();
      for (const channel of channels) await dialled.query(`listen ${channel}`);
      afterMs = RETRY_MS;
      rest();
      for (const channel of channels) tell(channel, null);
    } catch {
      lost(); // whoever needs the database says that it is away
    }
  }

  connecting = connect(RETRY_MS);
  return {
    onNotice(run) {
      listeners.push(run);
    },
    async stop() {
      stopped = true;
      cancelRetry();
      await connecting;
      cancelBeat();
      client?.on('error', () => {}); // nothing is expected of it any more, not even a goodbye
      await client?.end().catch(() => {});
    },
  };
}
