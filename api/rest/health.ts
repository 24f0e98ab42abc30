/** Health routes: no credential, no envelope. Source: docs/health.md. */
import type { FastifyInstance } from 'fastify';
import { RETRY_AFTER_SECONDS } from '../../actors/refusal.ts';
import type { SubsystemCheck } from '../views/health.ts';
import { sendJson } from './answers.ts';

/** What the routes ask. Requests that come while checks run share them. */
export interface HealthRoutes {
  checkHealth(): Promise<readonly SubsystemCheck[]>;
  checkClusterHealth(): Promise<readonly SubsystemCheck[]>;
}

/** Paths that check the subsystems of this admin. */
const CHECK_PATHS = ['/healthz', '/readyz', '/health'];

/** Checks the admins together. */
const CLUSTER_PATH = '/health/cluster';

/** Says that the process answers, and checks nothing. */
const LIVE_PATH = '/livez';

/** 200 with an array of checks when all pass, else 503 with the same array. */
export function registerHealth(app: FastifyInstance, routes: HealthRoutes): void {
  const register = (path: string, check: () => Promise<readonly SubsystemCheck[]>): void => {
    app.get(path, async (_request, reply) => {
      const checks = await check();
      const isHealthy = checks.every(({ healthy }) => healthy);
      if (!isHealthy) reply.header('retry-after', String(RETRY_AFTER_SECONDS));
      return sendJson(reply, isHealthy ? 200 : 503, checks);
    });
  };

  for (const path of CHECK_PATHS) register(path, () => routes.checkHealth());
  register(CLUSTER_PATH, () => routes.checkClusterHealth());
  app.get(LIVE_PATH, (_request, reply) =>
    sendJson(reply, 200, [{ name: 'process', healthy: true, duration_ms: 0, error: null } satisfies SubsystemCheck]),
  );
}
