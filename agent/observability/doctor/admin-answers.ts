/** What the admins answer when they are asked whether they live: asked once, read by several checks. */
import type { IncomingMessage } from 'node:http';
import { refuseUpgrade } from '../../../transport/net/streams/unasked-upgrade.ts';
import { DIRECT, type Outbound } from '../../outbound/outbound.ts';
import { ProxyProblem } from '../../outbound/proxy-tunnel.ts';
import { networkProblem } from '../../problem.ts';

/** Asks the process and nothing behind it; answered without a credential. */
const LIVE_PATH = '/livez';

/** Headers of an answer, in bytes; its body is not read. */
const HEADER_BYTES_MAX = 16_384;

/** Admins that are asked. Source: transport/protocol/agent-settings.ts. */
const ADMINS_MAX = 32;

/** One admin. */
export interface AdminAnswer {
  /** Scheme, host and port of its URL: no path, and no credential. */
  readonly origin: string;
  /** Null: no usable answer. */
  readonly status: number | null;
  /** Why there is none, as the end of a sentence. */
  readonly problem: string | null;
  readonly latencyMs: number;
  /** How far the clock of this machine is ahead of the admin's, in ms; null when the answer did not say. */
  readonly skewMs: number | null;
}

/** Asks all of them at once, in order of preference. Never rejects. */
export async function askAdmins(
  urls: readonly string[],
  signal: AbortSignal,
  outbound: Outbound = DIRECT,
): Promise<readonly AdminAnswer[]> {
  return Promise.all(urls.slice(0, ADMINS_MAX).map((url) => askAdmin(url, signal, outbound)));
}

/** Scheme, host and port of a URL. */
export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'a URL that cannot be read';
}

async function askAdmin(url: string, signal: AbortSignal, outbound: Outbound): Promise<AdminAnswer> {
  const origin = originOf(url);
  const startedMs = performance.now();
  try {
    const { status, date, answeredMs, atMs } = await head(url, signal, outbound);
    const latencyMs = Math.round(answeredMs - startedMs);
    return { origin, status, problem: statusProblem(status), latencyMs, skewMs: skewOf(date, atMs, latencyMs) };
  } catch (error) {
    return {
      origin,
      status: null,
      problem: signal.aborted ? 'no answer in time' : reachProblem(error),
      latencyMs: Math.round(performance.now() - startedMs),
      skewMs: null,
    };
  }
}

/**
 * An admin that lives answers 200, whatever else it lacks. What is too busy, or has lost its admins, says so; anything
 * else is somebody else's: a captive portal, another service, a proxy that wants to know who asks.
 */
function statusProblem(status: number): string | null {
  if (status === 200) return null;
  const said = `it answered with status ${status}`;
  return status >= 500 || status === 429 ? said : `${said}, which is no answer of an admin`;
}

/**
 * By `node:http` as it is loaded anyway, and on a connection of its own: see agent/outbound/http-exchange.ts. Follows
 * no redirect.
 */
function head(
  url: string,
  signal: AbortSignal,
  outbound: Outbound,
): Promise<{
  readonly status: number;
  readonly date: string | undefined;
  readonly answeredMs: number;
  readonly atMs: number;
}> {
  const target = new URL(url);
  target.pathname = target.pathname.replace(/\/+$/u, '') + LIVE_PATH;
  target.username = '';
  target.password = '';
  const { request: send } = process.getBuiltinModule(target.protocol === 'https:' ? 'node:https' : 'node:http');
  return new Promise((resolve, reject) => {
    const request = send(
      target,
      { method: 'GET', signal, agent: outbound.agentFor(url), maxHeaderSize: HEADER_BYTES_MAX },
      (answer: IncomingMessage) => {
        resolve({
          status: answer.statusCode ?? 0,
          date: answer.headers.date,
          answeredMs: performance.now(),
          atMs: Date.now(),
        });
        answer.on('error', () => {});
        request.destroy();
      },
    );
    refuseUpgrade(request).on('error', reject).end();
  });
}

/**
 * The header has whole seconds, cut off, so it stands for the middle of its second; it was written half a round trip
 * before it came.
 * Good to half a second and half the round trip, which is enough for what is warned of.
 */
function skewOf(date: string | undefined, atMs: number, latencyMs: number): number | null {
  const theirsMs = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(theirsMs) ? null : Math.round(atMs - latencyMs / 2 - (theirsMs + 500));
}

/** In words that name no address: one may be of the VPN (R3). */
function reachProblem(error: unknown): string {
  if (error instanceof ProxyProblem) return error.message;
  const first = (error as { errors?: Error[] }).errors?.[0] ?? (error as Error);
  const { code } = first as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : PROBLEMS[code];
  if (known !== undefined) return known;
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') return networkProblem(error);
  if (code !== undefined && /CERT|TLS|SSL/u.test(code)) return `TLS failed: ${code}`;
  return code ?? 'it does not speak HTTP';
}

const PROBLEMS: Readonly<Record<string, string>> = {
  ENETUNREACH: 'this machine has no route to it',
  EHOSTUNREACH: 'no host answers there',
  ETIMEDOUT: 'no answer in time',
  ECONNRESET: 'the connection was cut',
  EACCES: 'a firewall of this machine forbids it',
  EPROTO: 'it does not speak TLS',
  HPE_INVALID_CONSTANT: 'it does not speak HTTP',
};
