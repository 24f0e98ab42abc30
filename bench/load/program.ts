/**
 * The load program (C, beside this file): clients and a target so lean that they are not the limit. Built with the
 * system's compiler when it is first wanted.
 */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { access, constants, mkdir, readFile, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram, PEERS_DIR } from '../peers/programs.ts';

const run = promisify(execFile);

/** How a client gets to the target. */
export type Route =
  | readonly ['direct', port: number]
  | readonly ['socks5', port: number, user: string, password: string, host: string, target: number]
  | readonly ['command', ...string[]];

/** What bytes do: to the client, or from it. */
export type Direction = 'down' | 'up';

/** How a transfer went. `openSeconds` is for opening all of its streams, before. */
export interface Transfer {
  readonly seconds: number;
  readonly openSeconds: number;
  readonly clientCpuMs: number;
}

/** How a time of opening and closing connections went. */
export interface Rate {
  readonly count: number;
  readonly failures: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly clientCpuMs: number;
}

/** The load program, ready. */
export interface Load {
  readonly path: string;
  /** Starts a target on a loopback port. */
  origin(): Promise<{ readonly pid: number; readonly port: number; end(): Promise<void> }>;
  /** Opens `streams` ways, then moves `bytes` on each at the same time. Rejects when one breaks. */
  transfer(streams: number, bytes: number, direction: Direction, route: Route): Promise<Transfer>;
  /** Opens a way, asks 100 bytes, hears 100 bytes, closes; so many at a time, for so long. */
  connections(atOnce: number, seconds: number, route: Route): Promise<Rate>;
}

/** Builds it unless that was done. Rejects in one line when there is no C compiler. */
export async function buildLoad(): Promise<Load> {
  const sources = (await readdir(import.meta.dirname))
    .filter((name) => /\.[ch]$/u.test(name))
    .toSorted()
    .map((name) => join(import.meta.dirname, name));
  const hash = createHash('sha256');
  for (const source of sources) hash.update(await readFile(source));
  const path = join(PEERS_DIR, `load-${hash.digest('hex').slice(0, 16)}`);
  if (
    !(await access(path, constants.X_OK).then(
      () => true,
      () => false,
    ))
  ) {
    const compiler = await findProgram('cc');
    if (compiler === undefined)
      throw new Error('this case needs a C compiler for its clients: install gcc and libc6-dev');
    await mkdir(PEERS_DIR, { recursive: true });
    await run(compiler, [
      '-O2',
      '-Wall',
      '-Wextra',
      '-Werror',
      '-pthread',
      '-o',
      `${path}.new`,
      ...sources.filter((name) => name.endsWith('.c')),
    ]);
    await rename(`${path}.new`, path);
  }
  return {
    path,
    origin: () => startOrigin(path),
    async transfer(streams, bytes, direction, route) {
      const {
        seconds,
        open_seconds: openSeconds,
        cpu_ms: clientCpuMs,
      } = await told<{ seconds: number; open_seconds: number; cpu_ms: number }>(path, [
        'streams',
        streams,
        bytes,
        direction,
        ...route,
      ]);
      return { seconds, openSeconds, clientCpuMs };
    },
    async connections(atOnce, seconds, route) {
      const {
        p50_ms: p50Ms,
        p99_ms: p99Ms,
        cpu_ms: clientCpuMs,
        ...rest
      } = await told<{
        count: number;
        failures: number;
        seconds: number;
        p50_ms: number;
        p99_ms: number;
        cpu_ms: number;
      }>(path, ['connections', atOnce, seconds, ...route]);
      return { ...rest, p50Ms, p99Ms, clientCpuMs };
    },
  };
}

async function told<T>(path: string, words: readonly (string | number)[]): Promise<T> {
  const { stdout } = await run(path, words.map(String));
  return JSON.parse(stdout) as T;
}

async function startOrigin(path: string) {
  // it ends when its input does, also when the bench is killed
  const child = spawn(path, ['origin'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    pid: child.pid ?? 0,
    port: Number(line.toString()),
    async end() {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}
