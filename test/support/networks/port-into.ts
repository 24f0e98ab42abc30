/** A way into a machine for the test itself, which is in no network of its internet. */
import { createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import type { Machine } from './machine.ts';
import { listening } from '../net/listening.ts';

/** Runs on the machine: joins what comes to a socket file with a port of the machine's loopback. */
const INSIDE = `const [path, port] = process.argv.slice(1);
require('node:net').createServer({ allowHalfOpen: true }, (outer) => {
  const inner = require('node:net').connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  outer.pipe(inner).pipe(outer);
  outer.on('error', () => inner.destroy()).on('close', () => inner.destroy());
  inner.on('error', () => outer.destroy()).on('close', () => outer.destroy());
}).listen(path, () => console.log('open'));`;

let count = 0;

/**
 * Opens a port on the loopback of the test that leads to a port on the loopback of the machine. Resolves with its
 * number.
 */
export async function openPortInto(scope: Scope, machine: Machine, port: number): Promise<number> {
  const path = join(machine.directory, `port-${(count += 1)}`);
  const inside = machine.spawn(process.execPath, ['-e', INSIDE, path, `${port}`]);
  await until('the port', () => inside.output.includes('open'));
  const server = createServer({ allowHalfOpen: true }, (outer) =>
    through(outer, createConnection({ path, allowHalfOpen: true })),
  );
  return listening(scope, server);
}

function through(outer: Socket, inner: Socket): void {
  outer.pipe(inner).pipe(outer);
  for (const [one, other] of [
    [outer, inner],
    [inner, outer],
  ] as const)
    one.on('error', () => other.destroy()).on('close', () => other.destroy());
}
