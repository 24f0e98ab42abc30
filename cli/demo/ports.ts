/** Ports of this machine that are free. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { EXIT, Problem } from '../problem.ts';

/** Some free ports, all different. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(0)));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map(close));
  return ports;
}

/** The wanted port, refused when taken; without one the usual port, or a free one when that is taken. */
export async function portFor(
  wanted: number | null,
  usual: number,
): Promise<{ readonly port: number; readonly isUsual: boolean }> {
  try {
    await close(await listen(wanted ?? usual));
    return { port: wanted ?? usual, isUsual: true };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (wanted !== null)
      throw new Problem(
        `port ${wanted} cannot be used (${code === 'EADDRINUSE' ? 'another program listens there' : code}): give another --port, or none for a free one`,
        EXIT.usage,
      );
    const [port = 0] = await freePorts(1);
    return { port, isUsual: false };
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
