/**
 * A stand-in for Watchtower: an HTTP server that keeps the answers of its two lines, as their sources and pages have
 * them, and updates nothing. `containrrr` is the one that is not maintained any more (v1.7.1): any method, an empty 200
 * when its work is done. `nicholas-fedor` is the one that is: POST alone, 202 for `async=true`, 429 while it is busy.
 */
import type { ServerResponse } from 'node:http';
import type { Scope } from '../scope.ts';
import { UPDATER_TOKEN, UpdaterDouble, type UpdaterAsk, type UpdaterReply } from './updater-double.ts';

/** Which of them. */
export type WatchtowerLine = 'containrrr' | 'nicholas-fedor';

/** What it is like at the moment. */
export interface WatchtowerMood {
  /** An update takes so long, in ms. */
  readonly workMs?: number;
  /** It answers with this status instead of working. */
  readonly fails?: 408 | 413 | 500 | 503;
  /** So many questions come while another update runs. */
  readonly busy?: number;
  /** What it says then of when to come back, in seconds. */
  readonly retryAfter?: string;
}

/** One that listens. `begun`: updates that it took on. */
export async function startWatchtower(scope: Scope, line: WatchtowerLine, mood: WatchtowerMood = {}) {
  let begun = 0;
  const working = (response: ServerResponse, status: number, body: string) => {
    begun += 1;
    setTimeout(() => response.writeHead(status).end(body), mood.workMs ?? 0).unref();
  };
  const update = (ask: UpdaterAsk, count: number): UpdaterReply => {
    if (ask.authorization !== `Bearer ${UPDATER_TOKEN}`) return { status: 401 };
    if (line === 'containrrr') return (response) => working(response, 200, '');
    if (ask.method !== 'POST') return { status: 405, headers: { allow: 'POST' } };
    if (mood.fails !== undefined) return { status: mood.fails, body: { error: `it failed with ${mood.fails}` } };
    if (count <= (mood.busy ?? 0))
      return {
        status: 429,
        headers: { 'retry-after': mood.retryAfter ?? '30' },
        body: { error: 'another update is already running' },
      };
    const isAsync = ask.query.includes('async=true');
    return (response) =>
      working(
        response,
        isAsync ? 202 : 200,
        JSON.stringify({ summary: { scanned: 1, updated: 0, failed: 0 }, api_version: 'v1' }),
      );
  };
  const double = await UpdaterDouble.start(scope, {
    '/v1/update': update,
    ...(line === 'nicholas-fedor' && {
      '/v1/check': ({ authorization }: UpdaterAsk) => ({
        status: authorization === `Bearer ${UPDATER_TOKEN}` ? 200 : 401,
      }),
      '/livez': () => ({ status: 200 }),
    }),
  });
  return { url: double.url, token: UPDATER_TOKEN, begun: () => begun, asks: double.asks };
}
