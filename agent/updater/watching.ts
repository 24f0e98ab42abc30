/** The watch over a new version: looks once a second until it is judged. */
import { setTimeout as sleep } from 'node:timers/promises';
import { aliveMs } from '../../transport/net/uptime.ts';
import { isAnybodyReachable } from './admins.ts';
import { startsSince } from './boot.ts';
import { isAlive, readHealth, type HealthReading } from './health.ts';
import { HEALTH_FILE } from './layout.ts';
import { agentFile } from './settings.ts';
import type { Switch } from './state.ts';
import type { UpdaterParts } from './parts.ts';
import { beginWatching, judge, type Look, type Verdict } from './watch.ts';

/** Between two looks, in ms. */
export const LOOK_MS = 1_000;

/** Between two questions whether an admin can be reached, while the agent is not connected, in ms. */
const REACH_MS = 10_000;

/** How it ended; null: the updater is to stop, and the next one watches on. */
export type WatchEnd = Exclude<Verdict, { verdict: 'wait' }> & { readonly connectedSince: number | null };

/** Watches until there is a verdict. `sinceUptime`: starts before it do not count, in s as os.uptime has them. */
export async function watchVersion(parts: UpdaterParts, change: Switch, sinceUptime: number): Promise<WatchEnd | null> {
  const { config, layout, options, signal, times } = parts;
  const path = agentFile(config, HEALTH_FILE);
  const watched = { version: change.to.version, problems: change.problems };
  const reach = new Reach(() => isAnybodyReachable(config, options.agentFor));
  const freshness = new Freshness(readHealth(path), change.to.version);
  let watching = beginWatching(performance.now());
  let connectedSince: number | null = null;
  for (;;) {
    const nowMs = performance.now();
    const reading = readHealth(path);
    const writtenMs = freshness.writtenMs(reading, nowMs);
    const isConnected = reading.health?.connected_since !== null && reading.health !== null && writtenMs !== null;
    if (isConnected && reading.health.version === watched.version) connectedSince ??= reading.health.connected_since;
    const look: Look = {
      nowMs,
      health: reading.health,
      writtenMs,
      starts: startsSince(layout, Math.max(sinceUptime, (aliveMs() - times.crashWindowMs) / 1_000)),
      isReachable: isConnected ? true : reach.latest(nowMs),
    };
    const judged = judge(watching, look, watched, times);
    watching = judged.watching;
    if (judged.verdict.verdict !== 'wait') return { ...judged.verdict, connectedSince };
    try {
      await sleep(parts.lookMs, undefined, { signal });
    } catch {
      return null;
    }
  }
}

/** When health.json was written last, by this process's clock: what is in it may be of any clock. */
class Freshness {
  #mark: string;
  #writtenMs: number | null;

  /** The new agent may have written before the first look. */
  constructor({ health, mark }: HealthReading, version: string) {
    this.#mark = mark;
    this.#writtenMs = health?.version === version && isAlive(health.pid) ? performance.now() : null;
  }

  writtenMs({ mark }: HealthReading, nowMs: number): number | null {
    if (mark !== this.#mark && mark !== '') this.#writtenMs = nowMs;
    this.#mark = mark;
    return this.#writtenMs;
  }
}

/** Asks in the background from time to time. */
class Reach {
  readonly #ask: () => Promise<boolean>;
  #askedMs = Number.NEGATIVE_INFINITY;
  #isReachable: boolean | null = null;

  constructor(ask: () => Promise<boolean>) {
    this.#ask = ask;
  }

  latest(nowMs: number): boolean | null {
    if (nowMs - this.#askedMs >= REACH_MS) {
      this.#askedMs = nowMs;
      this.#ask().then(
        (answer) => (this.#isReachable = answer),
        () => (this.#isReachable = false),
      );
    }
    return this.#isReachable;
  }
}
