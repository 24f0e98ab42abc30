/** Ports for programs of tests. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInOwnNamespaces } from '../run/own-namespaces.ts';

/**
 * Each end included: below those that Linux, Windows and macOS give away by themselves (32768, 49152), so that no
 * connection takes one that was free a moment ago.
 */
const PORTS = { least: 20_000, most: 32_767 } as const;

/**
 * A port that was free a moment ago, and that nobody else in this run gets: a program that is killed and started again
 * finds it free.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.least, PORTS.most + 1);
    if ((await isMine(port)) && (await isFree(port))) return port;
  }
}

/**
 * The files of a run are processes of their own: they claim ports by directories, which go with the run. A file that
 * runs by itself shares with nobody.
 */
async function isMine(port: number): Promise<boolean> {
  if (!isInOwnNamespaces()) return true;
  return mkdir(join(tmpdir(), `edge-port-${port}`)).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}
