/** An address that swallows what is sent to it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Scope } from '../../../support/scope.ts';

/**
 * Makes an address where connections hang: a stopped process whose queue of them is full, so that the kernel drops what
 * comes.
 */
export async function startBlackHole(scope: Scope, address: string, port: number): Promise<void> {
  const child = spawn(
    process.execPath,
    [
      '-e',
      `require('net').createServer().listen({ host: '${address}', port: ${port}, backlog: 1 }, () => console.log('up'))`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  scope.teardown(() => {
    child.kill('SIGKILL');
  });
  await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  for (let index = 0; index < 4; index += 1) {
    const filler = connect(port, address).on('error', () => {});
    scope.teardown(() => {
      filler.destroy();
    });
  }
}
