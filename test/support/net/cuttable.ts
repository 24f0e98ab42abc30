/** A way to one server that can be cut while both ends live: at once, or without a word. */
import { connect, createServer, type Socket } from 'node:net';
import { listening } from './listening.ts';
import type { Scope } from '../scope.ts';

/** Stands before one server. */
export interface Cuttable {
  readonly url: string;
  /** Connections that are open now. */
  readonly open: () => number;
  /** `broken`: connections end, and new ones do too. `silent`: they stay, and nothing comes through any more. */
  cut(how: 'broken' | 'silent'): void;
  /** What was cut ends; new connections get through. */
  mend(): void;
}

/** Opens one that ends with the scope. `server`: the URL of the server, asked for at each connection. */
export async function openCuttable(scope: Scope, server: () => string): Promise<Cuttable> {
  const pairs = new Set<readonly [near: Socket, far: Socket]>();
  let state: 'whole' | 'broken' | 'silent' = 'whole';
  const end = (): void => {
    for (const [near, far] of pairs) {
      near.destroy();
      far.destroy();
    }
  };
  const silence = ([near, far]: readonly [Socket, Socket]): void => {
    near.unpipe(far);
    far.unpipe(near);
    near.pause();
    far.pause();
  };
  const listener = createServer({ noDelay: true }, (near) => {
    near.on('error', () => {});
    if (state === 'broken') {
      near.destroy();
      return;
    }
    const far = connect({ host: '127.0.0.1', port: Number(new URL(server()).port), noDelay: true });
    const pair = [near, far] as const;
    pairs.add(pair);
    const gone = (): void => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    far.on('error', () => {}).on('close', gone);
    near.on('close', gone);
    near.pipe(far).pipe(near);
    if (state === 'silent') silence(pair);
  });
  const port = await listening(scope, listener);
  scope.teardown(end);
  return {
    url: `http://127.0.0.1:${port}`,
    open: () => pairs.size,
    cut(how) {
      state = how;
      if (how === 'broken') end();
      else for (const pair of pairs) silence(pair);
    },
    mend() {
      state = 'whole';
      end();
    },
  };
}
