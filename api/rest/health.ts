/** Health routes: no credential, no envelope. Source: spec.md, health routes. */
import type { FastifyInstance } from 'fastify';
import type { SubsystemCheck } from '../operation.ts';
import { sendJson } from './answers.ts';

/** Paths that run all checks. */
const CHECK_PATHS = ['/healthz', '/readyz', '/health'];

/** Says that the process answers, and checks nothing. */
const LIVE_PATH = '/livez';

/** 200 with an array of checks when all pass, else 503 with the same array. Requests that come while checks run share them, so that strangers cannot multiply them. */
export function offerHealth(app: FastifyInstance, checkHealth: () => Promise<readonly SubsystemCheck[]>): void {
  let running: Promise<readonly SubsystemCheck[]> | null = null;
  const check = () => running ??= checkHealth().finally(() => {
    running = null;
  });

  for (const path of CHECK_PATHS) {
    app.get(path, async (_request, reply) => {
      const checks = await check();
      return sendJson(reply, checks.every(({ healthy }) => healthy) ? 200 : 503, checks);
    });
  }
  app.get(LIVE_PATH, (_request, reply) => sendJson(reply, 200, [{ name: 'process', healthy: true, duration_ms: 0, error: null } satisfies SubsystemCheck]));
}
