/**
 * The floor of a tunnel: the same two processes, and between them a bare WebSocket for each connection. The front takes
 * TCP connections; the back, which stands behind a NAT as agents do, dials a WebSocket for each and connects it to the
 * target.
 * No proxy protocol, no names, no permissions, no streams within a connection; back-pressure, without which it would
 * only fill memory.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { serveQuestions } from '../method/worker.ts';

/** Bytes that wait in a WebSocket before its source is not read any more. */
const UNSENT_BYTES_MAX = 1_048_576;

const OPTIONS = { perMessageDeflate: false } as const;
const BINARY = { binary: true, compress: false } as const;

function relay(socket: Socket, bridge: WebSocket): void {
  const resume = (): void => {
    if (socket.isPaused() && bridge.bufferedAmount < UNSENT_BYTES_MAX) socket.resume();
  };
  socket.on('data', (chunk: Buffer) => {
    bridge.send(chunk, BINARY, resume);
    if (bridge.bufferedAmount >= UNSENT_BYTES_MAX) socket.pause();
  });
  bridge.on('message', (chunk: Buffer) => {
    if (!socket.write(chunk)) bridge.pause();
  });
  socket.on('drain', () => bridge.resume());
  socket.on('close', () => bridge.close());
  socket.on('error', () => bridge.terminate());
  bridge.on('close', () => socket.end());
  bridge.on('error', () => socket.destroy());
  socket.resume();
}

serveQuestions({
  /** In the process that clients connect to. Answers where, and where the back has to go. */
  front: async () => {
    const waiting = new Map<string, Socket>();
    let control: WebSocket | undefined;
    let last = 0;
    const bridges = new WebSocketServer({ ...OPTIONS, port: 0, host: '127.0.0.1' });
    bridges.on('connection', (bridge, { url = '/' }) => {
      const socket = waiting.get(url);
      waiting.delete(url);
      if (socket === undefined) control = bridge;
      else relay(socket, bridge);
    });
    const clients = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => {
      last += 1;
      waiting.set(`/${last}`, socket);
      control?.send(`/${last}`);
    });
    clients.listen(0, '127.0.0.1');
    await Promise.all([once(bridges, 'listening'), once(clients, 'listening')]);
    return { clients: (clients.address() as AddressInfo).port, bridges: (bridges.address() as AddressInfo).port };
  },
  /** In the process that connects to the target. */
  back: async ({ bridges, target }: { bridges: number; target: number }) => {
    const control = new WebSocket(`ws://127.0.0.1:${bridges}/`, OPTIONS);
    control.on('message', (path: Buffer) => {
      const socket = connect({ port: target, host: '127.0.0.1', noDelay: true });
      socket.once('connect', () => {
        socket.pause();
        const bridge = new WebSocket(`ws://127.0.0.1:${bridges}${path.toString()}`, OPTIONS);
        bridge.once('open', () => relay(socket, bridge));
      });
    });
    await once(control, 'open');
  },
});
