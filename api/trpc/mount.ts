/** tRPC on the API server: HTTP, server-sent events and WebSocket under one path. */
import type { Clock } from '../../actors/ports.ts';
import type { Feeds } from '../feeds/feeds.ts';
import type { Mount } from '../rest/server.ts';
import { registerHttp, TRPC_PATH } from './http.ts';
import { createRouter } from './router.ts';
import { createTrpcSockets } from './sockets.ts';

/**
 * Mounts the router with these feeds. Closing the API cuts its connections, so that clients come back to whoever serves
 * next.
 */
export function mountTrpc(feeds: Feeds, clock: Clock): Mount {
  return (kit) => {
    const { app, call, gate, log, records } = kit;
    const router = createRouter({ call, gate, feeds });
    registerHttp(app, router, log);
    const sockets = createTrpcSockets({ router, gate, clock, records, log });
    kit.onUpgrade(TRPC_PATH, sockets.onUpgrade);
    app.addHook('preClose', (done) => {
      sockets.close();
      feeds.close();
      done();
    });
  };
}
