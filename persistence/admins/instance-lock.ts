/** Sees at the start that no other process of this name runs: two of them would take everything from each other. */
import { setTimeout as delay } from 'node:timers/promises';
import { ADMIN_SILENCE_MS_MAX } from '../ownership/leases.ts';
import type { NameHolder } from './registration.ts';

/**
 * How long a start watches a process that has its name, in ms: beyond the silence after which that one counts as gone,
 * and long enough for one that is being stopped.
 */
export const NAME_WATCHED_MS_MAX = 4_000;

/** How often it looks meanwhile, in ms. */
const LOOK_EVERY_MS = 100;

/** Another process of this name runs. */
export class NameInUse extends Error {
  override readonly name = 'NameInUse';
}

/** How a name is had. Each rejects with DatabaseUnavailable when the database is away. */
export interface NamePorts {
  readonly name: string;
  /** Whether this process has the lock of the name, which its connection keeps from then on. */
  tryLock(): Promise<boolean>;
  /** Who has the name by the rows; null: nobody. */
  holder(): Promise<NameHolder | null>;
  /** Takes it from that one. Answers the id of the admin; null: somebody was faster. */
  register(from: NameHolder | null): Promise<string | null>;
  monotonicMs(): number;
}

/**
 * Takes the name up, and answers the id of the admin. A former process that is dead has no lock any more, so nothing is
 * waited for. One that has it still is frozen or cut off where its row shows no check-in for ADMIN_SILENCE_MS_MAX of
 * watching: then the name is taken from it, and it finds out at its next check-in. Throws NameInUse when it goes on
 * checking in.
 */
export async function takeName(ports: NamePorts): Promise<string> {
  const beganMs = ports.monotonicMs();
  let seen: NameHolder | null = null;
  let quietSinceMs = beganMs;
  for (let isFirst = true; ; isFirst = false) {
    const isLocked = await ports.tryLock();
    const holder = await ports.holder();
    const nowMs = ports.monotonicMs();
    if (!isFirst && !isSame(seen, holder)) quietSinceMs = nowMs;
    seen = holder;
    // An older release takes no lock: whether one of them runs only its check-ins tell.
    const isFree = isLocked && (holder === null || holder.instanceId !== null);
    if (isFree || nowMs - quietSinceMs > ADMIN_SILENCE_MS_MAX) {
      const id = await ports.register(holder);
      if (id !== null) return id;
    } else if (nowMs - beganMs > NAME_WATCHED_MS_MAX) throw new NameInUse(inUse(ports.name, holder));
    await delay(LOOK_EVERY_MS);
  }
}

function isSame(one: NameHolder | null, other: NameHolder | null): boolean {
  return one?.instanceId === other?.instanceId && one?.checkedInMs === other?.checkedInMs;
}

function inUse(name: string, holder: NameHolder | null): string {
  const since = holder === null ? 'starts now' : `runs since ${new Date(holder.startedAtMs).toISOString()}`;
  return `ADMIN_NAME "${name}" is that of an admin that ${since}: give each admin a name of its own, or stop that one first.`;
}
