/** tRPC on the API server: HTTP, server-sent events and WebSocket under one path. */
import type { Clock } from '../../actors/ports.ts';
import type { Feeds } from '../feeds/feeds.ts';
import type { Mount, MountKit } from '../rest/server.ts';
import { registerHttp, TRPC_PATH } from './http.ts';
import { createRouter } from './router.ts';
import { createTrpcSockets, type TrpcSockets } from './sockets.ts';

/** What else comes in by its connections: the console. */
export type BesideTrpc = (kit: MountKit, sockets: TrpcSockets) => void;

/**
 * Mounts the router with these feeds. Closing the API cuts its connections, so that clients come back to whoever serves
 * next.
 * `beside` may put what else uses its connections on the same server.
 */
export function mountTrpc(feeds: Feeds, clock: Clock, beside: BesideTrpc = () => {}): Mount {
  return (kit) => {
    const { app, call, gate, log, records } = kit;
    const router = createRouter({ call, gate, feeds });
    registerHttp(app, router, { gate, log });
    const sockets = createTrpcSockets({ router, gate, clock, records, log });
    kit.onUpgrade(TRPC_PATH, sockets.onUpgrade);
    beside(kit, sockets);
    app.addHook('preClose', (done) => {
      sockets.close();
      feeds.close();
      done();
    });
  };
}
