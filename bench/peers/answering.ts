/** When a server that was just started takes connections. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Timeout of a start, in ms. */
const START_MS_MAX = 5_000;

/** Resolves when somebody listens on a loopback port. */
export async function answering(port: number): Promise<void> {
  for (const until = Date.now() + START_MS_MAX; Date.now() < until; await delay(50)) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
  }
  throw new Error(`nobody answered on port ${port} within ${START_MS_MAX / 1_000} s`);
}
