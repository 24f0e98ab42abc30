/** Logins that no admin answered: kept on the disk until one has stored that they were tried. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { SSH_USERNAME_CHARS_MAX } from '../../../../transport/protocol/limits.ts';
import {
  SSH_UNANSWERED_PER_FRAME_MAX,
  type SshCredential,
  type UnansweredLogin,
} from '../../../../transport/protocol/ssh.ts';
import { writeDurably } from '../../../durable-file.ts';
import type { Log } from '../../../../transport/net/log.ts';
import { systemProblem } from '../../../problem.ts';

/**
 * Logins that are kept. Later ones are counted in the log and no more: who tries for hours while no admin is there must
 * not fill the disk.
 */
export const UNANSWERED_MAX = 256;

/**
 * On a session that lives a login is told so long after it was given up, in ms: its verdict may be late, and of what
 * the admin stored by itself nothing is told. Twice as long as a statement of its database may take (L3).
 */
export const TOLD_AFTER_MS = 10_000;

/**
 * One that was told and that nobody confirmed is told again so long after, in ms: its database was away, or the
 * confirmation was lost.
 */
export const TOLD_AGAIN_AFTER_MS = 300_000;

const Kept = z
  .array(
    z.object({
      id: z.uuid(),
      username: z.string().max(SSH_USERNAME_CHARS_MAX),
      method: z.enum(['password', 'public_key']),
      at_ms: z.int(),
    }),
  )
  .max(UNANSWERED_MAX);

/** Those that are kept. No method throws. */
export interface UnansweredLogins {
  /** One more. Answers its id; null: there are too many. */
  add(username: string, method: SshCredential['method']): string | null;
  /**
   * The oldest that are to be told now, as many as one frame takes: see TOLD_AFTER_MS and TOLD_AGAIN_AFTER_MS. `isNew`:
   * the session is another one, and all are to be told.
   */
  next(isNew: boolean): readonly UnansweredLogin[];
  /** These are stored, or were answered after all. */
  remove(ids: readonly string[]): void;
}

/** What time it is: on the wall, and on a clock that nobody sets. */
interface Clocks {
  readonly wallMs: () => number;
  readonly nowMs: () => number;
}

const CLOCKS: Clocks = { wallMs: Date.now, nowMs: () => performance.now() };

/** Reads what is kept at `path`. What cannot be read is given up with a line of the log. */
export function openUnanswered(path: string, log: Log, { wallMs, nowMs }: Clocks = CLOCKS): UnansweredLogins {
  let kept = read();
  let hasWarned = false;
  /** From when each is to be told, by its id; those that are not in here at once. */
  const dueMs = new Map<string, number>();

  function read(): z.infer<typeof Kept> {
    try {
      return Kept.parse(JSON.parse(readFileSync(path, 'utf8')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        log.warn({ problem: 'their file cannot be read' }, 'Logins that no admin had answered are lost');
      return [];
    }
  }

  function store(next: z.infer<typeof Kept>): void {
    kept = next;
    try {
      writeDurably(path, JSON.stringify(kept));
    } catch (error) {
      log.warn({ problem: systemProblem(error) }, 'Logins that no admin answered are kept in memory alone');
    }
  }

  return {
    add(username, method) {
      if (kept.length >= UNANSWERED_MAX) {
        if (!hasWarned) log.warn({ username }, 'More logins were tried than are told to the admin when it is back');
        hasWarned = true;
        return null;
      }
      const id = randomUUID();
      dueMs.set(id, nowMs() + TOLD_AFTER_MS);
      store([...kept, { id, username, method, at_ms: Math.round(wallMs()) }]);
      return id;
    },
    next(isNew) {
      if (isNew) dueMs.clear();
      const atMs = nowMs();
      const next = kept.filter(({ id }) => (dueMs.get(id) ?? 0) <= atMs).slice(0, SSH_UNANSWERED_PER_FRAME_MAX);
      for (const { id } of next) dueMs.set(id, atMs + TOLD_AGAIN_AFTER_MS);
      return next.map(({ id, username, method, at_ms: triedMs }) => ({
        id,
        username,
        method,
        ms_ago: Math.max(0, Math.round(wallMs() - triedMs)),
      }));
    },
    remove(ids) {
      const gone = new Set(ids);
      const left = kept.filter(({ id }) => !gone.has(id));
      if (left.length === kept.length) return;
      hasWarned = false;
      for (const id of gone) dueMs.delete(id);
      store(left);
    },
  };
}
