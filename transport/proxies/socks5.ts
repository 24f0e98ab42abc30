/** A SOCKS5 server: greeting, login, request, dial, and only then the reply. */
import { createServer } from 'node:net';
import { createCounters } from './counters.ts';
import { Guests } from './guests.ts';
import type { ProxyFront, Serving } from './serving.ts';
import { Handshake } from './socks5-handshake.ts';
import { createDial } from './tunnels.ts';

/** Makes as many equal servers as addresses are listened on. */
export function createSocks5Proxy(serving: Serving, count: number): ProxyFront {
  const counters = createCounters();
  const guests = new Guests(serving.limits, counters, (socket) => guests.dismiss(socket, ''));
  const ports = { ...serving, counters, guests, dial: createDial(serving, counters) };
  return {
    servers: Array.from({ length: count }, () =>
      createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
        if (guests.enter(socket)) new Handshake(socket, ports).start();
      }),
    ),
    counters,
    guests,
  };
}
