/** A way to one server that damages what that says. */
import { connect, createServer } from 'node:net';
import { damageWrite } from './damaged-bytes.ts';
import { listening } from './listening.ts';
import type { Scope } from '../scope.ts';

/** Stands before one server. */
export interface DamagingProxy {
  readonly port: number;
  /** Pieces that were damaged so far. */
  readonly damaged: () => number;
  /** What the server says as it is passed on. */
  passed: (bytes: Buffer) => Buffer;
  /**
   * Asked at each connection which piece of what the server says on it is damaged, from 1; none above. The connection
   * ends behind it.
   */
  pieceOf: () => number;
}

/** Opens one that ends with the scope, and damages nothing yet. */
export async function openDamagingProxy(scope: Scope, port: number, numbers: () => number): Promise<DamagingProxy> {
  let damaged = 0;
  const server = createServer({ noDelay: true }, (near) => {
    damageWrite(near, proxy.pieceOf(), numbers, () => (damaged += 1));
    const far = connect({ port, host: '127.0.0.1', noDelay: true }).on('error', () => near.destroy());
    near.on('close', () => far.destroy()).pipe(far);
    far.on('data', (bytes: Buffer) => void near.write(proxy.passed(bytes))).on('close', () => near.end());
  });
  const proxy: DamagingProxy = {
    port: await listening(scope, server),
    damaged: () => damaged,
    passed: (bytes) => bytes,
    pieceOf: () => Infinity,
  };
  return proxy;
}
