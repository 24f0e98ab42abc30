/** Where the service is and with which key: flags before environment before the file that `edge login` writes. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { EXIT, Problem } from './problem.ts';

/** Where an admin listens when nothing else is said. Source: contract.md 1. */
export const DEFAULT_URL = 'http://127.0.0.1:44000';

export interface Connection {
  readonly url: string;
  /** Null: none is known; a service without enforcement needs none. */
  readonly key: string | null;
}

/** What was given on the command line. */
export interface ConnectionFlags {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The connection to use. Throws a Problem for a URL that is none, and a file that cannot be read. */
export function connectionFrom(flags: ConnectionFlags, env: Environment): Connection {
  const stored = readStored(connectionFile(env));
  const url = (flags.url ?? nonEmpty(env['EDGE_URL']) ?? stored.url ?? DEFAULT_URL).replace(/\/+$/u, '');
  if (!/^https?:\/\//u.test(url) || !URL.canParse(url)) throw new Problem(`"${url}" is no URL of a service: it should be like ${DEFAULT_URL}`, EXIT.usage);
  return { url, key: flags.key ?? nonEmpty(env['EDGE_API_KEY']) ?? stored.key ?? null };
}

/** Stores a connection for the next calls, readable for its owner only. Answers where. */
export function storeConnection(connection: Connection, env: Environment): string {
  const file = connectionFile(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify(connection, null, 2)}\n`, { mode: 0o600 });
  chmodSync(file, 0o600); // an older file keeps its mode when it is written again
  return file;
}

function connectionFile(env: Environment): string {
  return join(nonEmpty(env['XDG_CONFIG_HOME']) ?? join(homedir(), '.config'), 'edge', 'config.json');
}

function readStored(file: string): Partial<{ readonly url: string; readonly key: string }> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Problem(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}): correct its rights, or remove it`);
  }
  try {
    const { url, key } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return { ...(typeof url === 'string' && { url }), ...(typeof key === 'string' && { key }) };
  } catch {
    throw new Problem(`${file} is damaged: run edge login again, or remove it`);
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
