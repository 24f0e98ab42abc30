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
   * The oldest that were not told on this session yet, as many as one frame takes. `isNew`: the session is another one,
   * and all are to be told.
   */
  next(isNew: boolean): readonly UnansweredLogin[];
  /** These are stored, or were answered after all. */
  remove(ids: readonly string[]): void;
}

/** Reads what is kept at `path`. What cannot be read is given up with a line of the log. */
export function openUnanswered(path: string, log: Log, wallMs: () => number = Date.now): UnansweredLogins {
  let kept = read();
  let hasWarned = false;
  const told = new Set<string>();

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
      store([...kept, { id, username, method, at_ms: Math.round(wallMs()) }]);
      return id;
    },
    next(isNew) {
      if (isNew) told.clear();
      const next = kept.filter(({ id }) => !told.has(id)).slice(0, SSH_UNANSWERED_PER_FRAME_MAX);
      for (const { id } of next) told.add(id);
      return next.map(({ id, username, method, at_ms: atMs }) => ({
        id,
        username,
        method,
        ms_ago: Math.max(0, Math.round(wallMs() - atMs)),
      }));
    },
    remove(ids) {
      const gone = new Set(ids);
      const left = kept.filter(({ id }) => !gone.has(id));
      if (left.length === kept.length) return;
      hasWarned = false;
      for (const id of gone) told.delete(id);
      store(left);
    },
  };
}
