/** What the agent says of itself, read from its files: untrusted in form, as any file is that others write. */
import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';

/** Largest health.json that is read, in bytes. */
const HEALTH_BYTES_MAX = 65_536;

const UnixMs = z.int().min(0).nullable();

/** health.json. Source: docs/architecture/self-updates.md. */
const Health = z.object({
  pid: z.int().min(1),
  version: z.string().max(64),
  started_at: z.int().min(0),
  connected_since: UnixMs,
  services_ok: z.boolean(),
  problems: z.array(z.string()).max(256),
  last_answer_at: UnixMs,
});
/** What the agent says of itself. */
export type Health = z.infer<typeof Health>;

/** The file as it is now. `mark` changes with every write of it, whatever the clocks say. */
export interface HealthReading {
  readonly health: Health | null;
  readonly mark: string;
}

/** Reads it. One that is missing, damaged or half a file is no health. */
export function readHealth(path: string): HealthReading {
  try {
    const { mtimeMs, ino, size } = statSync(path);
    const mark = `${mtimeMs}-${ino}-${size}`;
    if (size > HEALTH_BYTES_MAX) return { health: null, mark };
    const parsed = Health.safeParse(JSON.parse(readFileSync(path, 'utf8')));
    return { health: parsed.success ? parsed.data : null, mark };
  } catch {
    return { health: null, mark: '' };
  }
}

/** Problems as they are kept and compared: cut, and so many. */
export function keptProblems({ health }: HealthReading): readonly string[] {
  return (health?.problems ?? []).slice(0, 32).map((problem) => problem.slice(0, 512));
}

/** Whether there is a process with this id. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
