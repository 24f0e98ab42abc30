/** Parts of the program that are loaded with their first use, as most admins never need them. */
import type { Log } from './log.ts';

/**
 * Loads it once, for all who ask. Null: its files are gone, as after an upgrade of the package beneath a running admin;
 * that is in the log, and tried again for whoever asks next.
 */
export function latePart<T>(name: string, load: () => Promise<T>, log: Pick<Log, 'error'>): () => Promise<T | null> {
  let part: Promise<T | null> | undefined;
  return () =>
    (part ??= load().catch((error: unknown) => {
      part = undefined;
      log.error({ what: name, error: (error as Error).message }, 'a part of the program cannot be loaded: restart it');
      return null;
    }));
}
