/**
 * A program for a network of its own: a machine in the LAN of an agent. Says to whom it speaks, and sends on who asks
 * for that. Prints its port; ends when its input does.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, response) => {
  const trap = /^\/to\/(?<port>\d+)$/u.exec(request.url ?? '')?.groups?.['port'];
  if (trap !== undefined) response.writeHead(302, { location: `http://127.0.0.1:${trap}/` });
  const greeting = `a neighbour greets ${request.socket.remoteAddress?.replace(/^::ffff:/u, '')}`;
  request.resume().once('end', () => {
    response.end(greeting);
  });
});
server.listen(0, '::', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.stdin.resume().on('end', () => {
  process.exit();
});
