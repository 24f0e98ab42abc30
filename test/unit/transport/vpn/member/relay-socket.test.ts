/** A socket that stands for a peer that is reached over a relay. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:dgram';
import test from 'ava';
import { RelaySocket } from '../../../../../transport/vpn/member/relay-socket.ts';

test('a socket that the system does not connect to WireGuard is none, and whoever waits for it is told', async (t) => {
  // as the system does it where lo is down, or where a filter of the service denies it
  const denied = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    socket.connect = (_port: number, _address?: unknown, told?: (error: Error) => void) =>
      queueMicrotask(() => told?.(new Error('connect EPERM 127.0.0.1')));
  };
  subscribe('udp.socket', denied);
  let failures = 0;
  const socket = new RelaySocket({
    wireguardPort: 51_820,
    send: () => {},
    straggled: () => {},
    failed: () => void (failures += 1),
  });
  unsubscribe('udp.socket', denied);
  t.teardown(() => socket.close());

  await t.throwsAsync(socket.opened, { message: 'connect EPERM 127.0.0.1' });

  t.is(socket.endpoint, null);
  t.is(failures, 1);
  t.notThrows(() => socket.deliver(Buffer.from('a packet')));
});
