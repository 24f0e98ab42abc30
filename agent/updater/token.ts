/** The key of the updater's HTTP API: given, or made once. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { callersKey } from '../../settings/fields.ts';
import { writeDurably } from '../durable-file.ts';
import { UpdateProblem } from './problem.ts';

/** As many as other secrets have. Source: E3. */
const TOKEN_BYTES = 32;

/** The token of the settings; else the one in the file, which is made for its owner alone where it is missing. */
export function tokenAt(path: string, given: string | undefined): string {
  if (given !== undefined) return given;
  const stored = storedToken(path);
  if (stored !== null) return stored;
  const made = randomBytes(TOKEN_BYTES).toString('hex');
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  writeDurably(path, `${made}\n`);
  return made;
}

function storedToken(path: string): string | null {
  try {
    const text = readFileSync(path, 'utf8').trim();
    if (callersKey().safeParse(text).success) return text; // by the rule of UPDATER_TOKEN
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  throw new UpdateProblem(
    `${path} holds no token that can be UPDATER_TOKEN: remove it, and the next start makes another`,
  );
}
