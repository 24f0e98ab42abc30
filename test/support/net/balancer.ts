/** A TCP balancer: each connection goes to the next of its servers, whatever is said on it. */
import { connect, createServer } from 'node:net';
import { listening } from './listening.ts';
import type { Scope } from '../scope.ts';

/** Stands before no server at first. */
export interface Balancer {
  readonly url: string;
  /** Connections so far, by the port of the server that they went to. */
  readonly connections: ReadonlyMap<number, number>;
  add(url: string): void;
}

/** Opens one that ends with the scope. */
export async function openBalancer(scope: Scope): Promise<Balancer> {
  const ports: number[] = [];
  const connections = new Map<number, number>();
  let next = 0;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const port = ports[next % ports.length] ?? 1;
    next += 1;
    connections.set(port, (connections.get(port) ?? 0) + 1);
    const far = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    near.pipe(far).pipe(near);
  });
  return {
    url: `http://127.0.0.1:${await listening(scope, server)}`,
    connections,
    add: (url) => void ports.push(Number(new URL(url).port)),
  };
}
