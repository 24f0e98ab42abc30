/** Ports of this machine: those that the demo listens on, and free ones. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { EXIT, Problem } from '../problem.ts';

/** Ports of the demo's admin, by what listens there. */
export interface DemoPorts {
  readonly api: number;
  readonly http: number;
  readonly socks5: number;
}

/** Where an admin usually listens. Source: docs/settings.md. */
export const USUAL_PORTS: DemoPorts = { api: 44_000, http: 43_128, socks5: 41_080 };

/**
 * Where free ports are looked for, each end included: below those that Linux, Windows and macOS give to connections
 * (32768, 49152), so that none has taken one before a program listens there.
 */
const FREE_PORTS = { least: 10_000, most: 19_999 } as const;

/** Starts of an admin on ports that were free a moment before, of which another program was faster. */
const STARTS_MAX = 3;

/** Some free ports, all different. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(FREE_PORTS.least, FREE_PORTS.most + 1);
    if ((await problemAt(port)) === null) ports.add(port);
  }
  return [...ports];
}

/**
 * Starts something at such ports, as `portsFor` has them; where another program took one of them before it listened, at
 * others. `ended`: what was started is over.
 */
export async function startedOnPorts<T>(
  wanted: number | null,
  before: Partial<DemoPorts>,
  start: (ports: DemoPorts) => Promise<T>,
  ended: () => void,
): Promise<{ readonly ports: DemoPorts; readonly started: T }> {
  for (let starts = 1; ; starts += 1) {
    const ports = await portsFor(wanted, before);
    try {
      return { ports, started: await start(ports) };
    } catch (error) {
      const problems = await Promise.all(Object.values(ports).map(problemAt));
      if (starts >= STARTS_MAX || problems.every((problem) => problem === null)) throw error;
      ended();
    }
  }
}

/**
 * Where to listen: at the port that is wanted for the API, which is refused when it is taken; else where it was the
 * last time, so that what people exported holds on; else as usual; else at free ports.
 */
export async function portsFor(wanted: number | null, before: Partial<DemoPorts>): Promise<DemoPorts> {
  const api = wanted === null ? await firstFree([before.api, USUAL_PORTS.api], []) : await refusedWhenTaken(wanted);
  const http = await firstFree([before.http, USUAL_PORTS.http], [api]);
  const socks5 = await firstFree([before.socks5, USUAL_PORTS.socks5], [api, http]);
  return { api, http, socks5 };
}

/** Says where it listens when that is not as usual. */
export function sayPort(api: number, before: number | undefined, say: (line: string) => void): void {
  if (api === USUAL_PORTS.api) return;
  say(
    api === before
      ? `It listens on port ${api}, as the last time.`
      : `Port ${USUAL_PORTS.api} is taken, so this one listens on ${api}.`,
  );
}

async function refusedWhenTaken(port: number): Promise<number> {
  const problem = await problemAt(port);
  if (problem === null) return port;
  throw new Problem(
    `port ${port} cannot be used (${problem === 'EADDRINUSE' ? 'another program listens there' : problem}): give another --port, or none for a free one`,
    EXIT.usage,
  );
}

/** The first of these ports that is neither taken nor among the others; else a free one. */
export async function firstFree(ports: readonly (number | undefined)[], others: readonly number[]): Promise<number> {
  for (const port of ports)
    if (port !== undefined && !others.includes(port) && (await problemAt(port)) === null) return port;
  return (await freePorts(others.length + 1)).find((port) => !others.includes(port)) ?? 0;
}

/** Why nobody can listen there; null: one can. */
async function problemAt(port: number): Promise<string | null> {
  try {
    await close(await listen(port));
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown error';
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function close(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}
