/**
 * The floor of an idle agent: Node with one open `ws` connection and a ping every 10 s. No journal, no runner, no
 * settings.
 */
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { serveQuestions } from '../method/worker.ts';

serveQuestions({
  /** In the process that plays the server. */
  listen: async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
    server.on('connection', (socket) => socket.on('message', () => socket.send('{"seq":1,"type":"pong"}')));
    await new Promise((resolve) => {
      server.once('listening', resolve);
    });
    return (server.address() as AddressInfo).port;
  },
  /** In the process that plays the agent. */
  dial: async (port: number) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { perMessageDeflate: false });
    await new Promise((resolve) => {
      socket.once('open', resolve);
    });
    setInterval(() => socket.send('{"seq":1,"type":"ping"}'), 10_000);
  },
});
