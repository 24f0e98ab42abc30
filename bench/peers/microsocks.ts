/** microsocks: a small SOCKS5 proxy of Debian, one thread a connection. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Route } from '../load/program.ts';
import { freePort } from '../fleet/ports.ts';
import { answering } from './answering.ts';

/** Its user, named as ours. */
const USER = '_';
const PASSWORD = 'bench-password-of-microsocks';

/** A running microsocks. */
export interface Microsocks {
  readonly pid: number;
  /** To a port of this machine. */
  route(target: number): Route;
  end(): Promise<void>;
}

/** Starts it with a password, as ours has one. */
export async function startMicrosocks(program: string): Promise<Microsocks> {
  const port = await freePort();
  const child = spawn(program, ['-i', '127.0.0.1', '-p', String(port), '-u', USER, '-P', PASSWORD], {
    stdio: 'ignore',
  });
  const abandon = (): void => void child.kill('SIGKILL'); // the bench was interrupted
  process.once('exit', abandon);
  await answering(port);
  return {
    pid: child.pid ?? 0,
    route: (target) => ['socks5', port, USER, PASSWORD, '127.0.0.1', target],
    async end() {
      process.off('exit', abandon);
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}
