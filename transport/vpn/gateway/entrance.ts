/** The gateway's listeners: where agents open tunnels over the VPN. Nothing else is served there. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { boundPipelining } from '../../net/streams/pipelining.ts';
import { TUNNEL_PATH } from '../../protocol/version.ts';

/** Connections of one VPN at once. */
const CONNECTIONS_MAX = 2_048;

/**
 * Connections of one member at once, by its address, which WireGuard vouches for; more are closed, and the machine is
 * reached beside the VPN. A tunnel is one: a machine has two at most, and as many again that it left and that are not
 * known to be dead yet.
 */
const MEMBER_CONNECTIONS_MAX = 8;

/** A request that does not come within this is cut, in ms. */
const REQUEST_MS_MAX = 5_000;

/** How often late requests are looked for, in ms. */
const LATE_LOOK_MS = 1_000;

/** A listener. */
export interface OpenListener {
  readonly ipv4: string;
  readonly port: number;
  readonly url: string;
  /** Cuts what came in by it. */
  close(): void;
}

/** Takes over the socket of an upgrade. */
export type TunnelUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Opens one on this address and a free port. Null: the address is not there yet. */
export async function openListener(ipv4: string, upgrade: TunnelUpgrade): Promise<OpenListener | null> {
  const server = boundPipelining(
    createServer(
      {
        headersTimeout: REQUEST_MS_MAX,
        requestTimeout: REQUEST_MS_MAX,
        connectionsCheckingInterval: LATE_LOOK_MS,
        maxHeaderSize: 4_096,
      },
      (_request, response) => {
        response.writeHead(404, { connection: 'close', 'content-length': 0 }).end();
      },
    ),
  );
  server.maxConnections = CONNECTIONS_MAX;
  const sockets = kept(server);
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    if (request.url === TUNNEL_PATH) upgrade(request, socket, head);
    else socket.destroy();
  });
  server.listen(0, ipv4);
  try {
    await once(server, 'listening');
  } catch {
    return null;
  }
  server.on('error', () => {});
  const { port } = server.address() as AddressInfo;
  return {
    ipv4,
    port,
    url: `http://${ipv4}:${port}`,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** All sockets of a server, also those that were taken over. What a member has too many of is closed at once. */
function kept(server: Server): ReadonlySet<Duplex> {
  const sockets = new Set<Duplex>();
  const ofMember = new Map<string, number>();
  server.on('connection', (socket) => {
    const member = socket.remoteAddress ?? ''; // of one that is gone already
    const count = (ofMember.get(member) ?? 0) + 1;
    if (count > MEMBER_CONNECTIONS_MAX) {
      socket.destroy();
      return;
    }
    ofMember.set(member, count);
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      const left = (ofMember.get(member) ?? 1) - 1;
      if (left === 0) ofMember.delete(member);
      else ofMember.set(member, left);
    });
  });
  return sockets;
}
