/** What `edge login` remembers, by name: services, and with which keys they are asked. */
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Problem } from '../problem.ts';

/** Variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A service and its key, and where its proxy is and with which key when that cannot be guessed. */
export interface StoredConnection {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly proxyUrl?: string | undefined;
  readonly proxyKey?: string | undefined;
}

/** All that is remembered, and which of it is used when nothing is said. */
export interface Contexts {
  readonly current: string;
  readonly connections: ReadonlyMap<string, StoredConnection>;
}

/** The name of what was remembered without one. */
export const DEFAULT_CONTEXT = 'default';

/** What a context may be called: a word for the shell. */
const NAME = /^[\w.-]{1,63}$/u;

/** The context that is named for this call; null: none. */
export function chosenContext(env: Environment): string | null {
  return nonEmpty(env['EDGE_CONTEXT']) ?? null;
}

/** What says where a service and its proxy are, and with which keys: of the one of a context, that says so itself. */
const CONNECTION_VARIABLES = [
  'EDGE_URL',
  'EDGE_API_KEY',
  'EDGE_PROXY_URL',
  'EDGE_PROXY_KEY',
  'EDGE_SOCKS5_URL',
] as const;

/**
 * Names the context of this call by an option, which comes before the variables: those of another service go. One that
 * is to be made is made of them.
 */
export function chooseContext(
  name: string,
  env: Record<string, string | undefined>,
  { isToBeMade }: { readonly isToBeMade: boolean },
): void {
  env['EDGE_CONTEXT'] = name;
  if (!isToBeMade) for (const variable of CONNECTION_VARIABLES) delete env[variable];
}

/** Whether something may be called so. */
export function isContextName(name: string): boolean {
  return NAME.test(name);
}

/** What is remembered of the context of this call; nothing where there is no such one. */
export function storedConnection(env: Environment): StoredConnection {
  const { current, connections } = readContexts(env);
  return connections.get(chosenContext(env) ?? current) ?? {};
}

/** All that is remembered. Throws a Problem for a file that cannot be read, or is none of ours. */
export function readContexts(env: Environment): Contexts {
  const file = contextsFile(env);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: DEFAULT_CONTEXT, connections: new Map() };
    throw new Problem(
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}): correct its rights, or remove it`,
    );
  }
  try {
    const { context, contexts, ...own } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const current = textOr(context) ?? DEFAULT_CONTEXT;
    const others = Object.entries((contexts ?? {}) as Readonly<Record<string, Readonly<Record<string, unknown>>>>);
    return {
      current,
      connections: new Map([
        ...(Object.keys(own).length === 0 ? [] : [[current, read(own)] as const]),
        ...others.map(([name, fields]) => [name, read(fields)] as const),
      ]),
    };
  } catch {
    throw new Problem(`${file} is damaged: remove it, and run edge login again`);
  }
}

/**
 * Writes all of it for its owner only, the current one where programs from before there were contexts look. Nothing
 * left: the file goes. Answers where.
 */
export function storeContexts({ current, connections }: Contexts, env: Environment): string {
  const file = contextsFile(env);
  if (connections.size === 0) {
    rmSync(file, { force: true });
    return file;
  }
  const others = [...connections].filter(([name]) => name !== current);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const fields = {
    ...written(connections.get(current) ?? {}),
    ...(current !== DEFAULT_CONTEXT && { context: current }),
    ...(others.length > 0 && { contexts: Object.fromEntries(others.map(([name, one]) => [name, written(one)])) }),
  };
  writeWhole(existsSync(file) ? realpathSync(file) : file, `${JSON.stringify(fields, null, 2)}\n`);
  return file;
}

/** Beside it first, and for its owner only: a full disk, or one that loses its power, must not take the keys in it. */
function writeWhole(file: string, text: string): void {
  const beside = `${file}.${process.pid}`;
  try {
    writeFileSync(beside, text, { mode: 0o600, flush: true });
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

/** Stores a connection as the context of this call, which becomes the current one. Answers where. */
export function storeConnection(connection: StoredConnection, env: Environment): string {
  const { current, connections } = readContexts(env);
  const name = chosenContext(env) ?? current;
  return storeContexts({ current: name, connections: new Map([...connections, [name, connection]]) }, env);
}

/** A file of that name where `edge` keeps what is its own. */
export function ownFile(name: string, env: Environment): string {
  return join(nonEmpty(env['XDG_CONFIG_HOME']) ?? join(homedir(), '.config'), 'edge', name);
}

/** An empty variable is none. */
export function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}

function contextsFile(env: Environment): string {
  return ownFile('config.json', env);
}

function read(fields: Readonly<Record<string, unknown>>): StoredConnection {
  const { url, key, proxy_url: proxyUrl, proxy_key: proxyKey } = fields;
  return { url: textOr(url), key: textOr(key), proxyUrl: textOr(proxyUrl), proxyKey: textOr(proxyKey) };
}

function written({ url, key, proxyUrl, proxyKey }: StoredConnection): object {
  return { url, key, proxy_url: proxyUrl, proxy_key: proxyKey };
}

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
