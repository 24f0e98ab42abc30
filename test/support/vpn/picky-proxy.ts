/**
 * A reverse proxy before a relay, as many are: it ends TLS itself, passes requests and WebSockets, and knows no other
 * upgrade.
 */
import { request, createServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Scope } from '../scope.ts';
import { mapOf } from './relay.ts';
import type { RelayRegion } from '../../../transport/vpn/relay-map/map.ts';
import { ownRelayMap } from '../../../transport/vpn/relay/map.ts';
import { certificateSha256, selfSigned } from '../../../transport/vpn/relay/self-signed.ts';
import { listening } from '../net/listening.ts';

/** The relay behind it, as its clients see it; and which upgrades were asked for. */
export interface PickyProxy {
  readonly region: RelayRegion;
  readonly upgrades: string[];
}

/** Starts one before a relay on a port of this machine. */
export async function startPickyProxy(scope: Scope, port: number, serverName = 'localhost'): Promise<PickyProxy> {
  const { certificate, key } = selfSigned('127.0.0.1', Date.now());
  const upgrades: string[] = [];
  const server = createServer({ cert: certificate, key }, (_asked, answer) => answer.writeHead(502).end());
  server.on('upgrade', (asked, near: Duplex, head) => {
    upgrades.push(asked.headers.upgrade ?? '');
    near.on('error', () => near.destroy());
    if (asked.headers.upgrade !== 'websocket') {
      near.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    const on = request({
      host: '127.0.0.1',
      port,
      path: asked.url,
      headers: asked.headers,
      rejectUnauthorized: false,
      servername: serverName,
      agent: false,
    });
    on.on('error', () => near.destroy());
    on.on('upgrade', (answer, far: Duplex, farHead) => {
      far.on('error', () => far.destroy());
      near.write(
        `HTTP/1.1 101 Switching Protocols\r\n${Object.entries(answer.headers)
          .map(([name, value]) => `${name}: ${String(value)}\r\n`)
          .join('')}\r\n`,
      );
      near.write(farHead);
      far.write(head);
      near.pipe(far).pipe(near);
      near.on('close', () => far.destroy());
      far.on('close', () => near.destroy());
    }).end();
  });
  const own = await listening(scope, server);
  const region = mapOf(
    ownRelayMap({ id: 902, code: 'behind', hostName: '127.0.0.1', port: own, pin: certificateSha256(certificate) }),
  ).regions.get(902);
  if (region === undefined) throw new Error('no region');
  return { region, upgrades };
}
