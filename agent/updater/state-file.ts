/** state.json: read, and written so that it is whole after any crash. */
import { readFileSync, renameSync } from 'node:fs';
import { writeDurably } from '../durable-file.ts';
import { FIRST_STATE, State } from './state.ts';

/**
 * Largest file that is read, in characters: three reasons of 4 KiB and 32 problems of 512 characters, of which each may
 * be escaped to six.
 */
const STATE_CHARS_MAX = 262_144;

/**
 * The state; the first one where there is none. One that is damaged is put aside as `state.json.damaged` and told: what
 * runs now is taken for good then, as nothing says that it is being watched.
 */
export function readState(path: string, damaged: (problem: string) => void): State {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return FIRST_STATE;
    throw error;
  }
  const parsed = text.length > STATE_CHARS_MAX ? null : State.safeParse(parsedJson(text));
  if (parsed?.success === true) return parsed.data;
  damaged(`${path} is damaged: it is put aside as state.json.damaged, and the updater starts anew`);
  renameSync(path, `${path}.damaged`);
  return FIRST_STATE;
}

/** Durable on return. Throws what the file system says, with the old content in place. */
export function writeState(path: string, state: State): void {
  writeDurably(path, `${JSON.stringify(state, null, 2)}\n`);
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
