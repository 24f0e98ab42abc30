/**
 * The text of a backup: gzipped lines of JSON. A header, then for each table its name and its rows as PostgreSQL words
 * them, then the end.
 */
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { z } from 'zod';
import type { SequencePlace, TableShape } from './tables.ts';

/** What the first line says the file is, and the form of what follows. Another form is refused. */
export const BACKUP_FORMAT = 'edge-fleet-control backup 1';

/** The first line. */
export interface BackupHeader {
  readonly format: typeof BACKUP_FORMAT;
  readonly version: string;
  readonly made_at: string;
  readonly migrations: readonly string[];
  readonly tables: readonly TableShape[];
  readonly sequences: readonly SequencePlace[];
}

/** A line: a row is a text, everything else an object. */
export type BackupLine =
  | BackupHeader
  | { readonly table: string }
  | { readonly end: { readonly rows: number } }
  | string;

/** The file is no backup, or not all of one. `message` is one line for the operator. */
export class BackupRefused extends Error {
  override readonly name = 'BackupRefused';
}

/** A file of lines that is being written. */
export interface BackupWriter {
  write(line: BackupLine): Promise<void>;
  /** Resolves when all is on the disk. */
  finish(): Promise<void>;
}

/** Begins a file that only its owner can read. Rejects when it is there already. */
export function writeLines(file: string): BackupWriter {
  const gzip = createGzip();
  const written = pipeline(gzip, createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }));
  const failed = new AbortController();
  written.catch(() => failed.abort()); // told to whoever writes or finishes
  return {
    async write(line) {
      if (gzip.write(`${JSON.stringify(line)}\n`)) return;
      // Not a race with `written`: each would be remembered until the end.
      await once(gzip, 'drain', { signal: failed.signal }).catch(() => written);
    },
    async finish() {
      gzip.end();
      await written;
    },
  };
}

/** Why the system lets nobody read a file, by its code. */
const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a directory',
  EACCES: 'may not be read by this user',
};

/** The lines of a file, one after another. Throws BackupRefused for what is no whole backup of this form. */
export async function* readLines(file: string): AsyncGenerator<BackupLine, void, undefined> {
  let rows = 0;
  let number = 0;
  let isEnded = false;
  try {
    for await (const line of textLines(file)) {
      const parsed = JSON.parse(line) as BackupLine;
      number += 1;
      if (number === 1 && !isHeader(parsed))
        throw new BackupRefused(`${file} is no backup of this form (it should begin with "${BACKUP_FORMAT}").`);
      if (number > 1 && !isLineBehind(parsed))
        throw new BackupRefused(`${file} is damaged: its line ${number} is none of a backup.`);
      if (typeof parsed === 'string') rows += 1;
      else if ('end' in parsed) {
        if (parsed.end.rows !== rows)
          throw new BackupRefused(
            `${file} is damaged: it holds ${rows} rows and says that they are ${parsed.end.rows}.`,
          );
        isEnded = true;
      }
      yield parsed;
    }
  } catch (error) {
    if (error instanceof BackupRefused) throw error;
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (code === 'Z_BUF_ERROR') throw new BackupRefused(`${file} is cut short.`, { cause: error });
    if (code.startsWith('Z_') || error instanceof SyntaxError)
      throw new BackupRefused(`${file} is no backup, or damaged (${message}).`, { cause: error });
    const unreadable = UNREADABLE[code];
    if (unreadable !== undefined) throw new BackupRefused(`The backup cannot be read: ${file} ${unreadable}.`);
    throw error;
  }
  if (!isEnded) throw new BackupRefused(`${file} is cut short.`);
}

/**
 * Not node:readline: what is wrong with a stream while nobody reads from it would be an exception that nobody catches.
 */
async function* textLines(file: string): AsyncGenerator<string, void, undefined> {
  const text = createGunzip();
  pipeline(createReadStream(file), text).catch(() => {}); // told to whoever reads the text
  let begun: string[] = [];
  for await (const chunk of text.setEncoding('utf8') as AsyncIterable<string>) {
    const [first = '', ...others] = chunk.split('\n');
    begun.push(first);
    for (const next of others) {
      yield begun.join('');
      begun = [next];
    }
  }
  const last = begun.join('');
  if (last !== '') yield last;
}

const Header = z.object({
  format: z.literal(BACKUP_FORMAT),
  version: z.string(),
  made_at: z.string(),
  migrations: z.array(z.string()),
  tables: z.array(z.object({ name: z.string(), columns: z.array(z.string()) })),
  sequences: z.array(z.object({ table: z.string(), column: z.string(), value: z.string(), isCalled: z.boolean() })),
});

/** Whether it is a first line, whole. */
export function isHeader(line: BackupLine): line is BackupHeader {
  return Header.safeParse(line).success;
}

/** Whether it may follow the first line. */
function isLineBehind(line: BackupLine | null): boolean {
  if (typeof line === 'string') return true;
  if (typeof line !== 'object' || line === null) return false;
  if ('end' in line) return Number.isInteger((line.end as { readonly rows: unknown } | null)?.rows);
  return 'table' in line && typeof line.table === 'string';
}
