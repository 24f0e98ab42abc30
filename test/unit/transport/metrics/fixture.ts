/** Scrapes through a real tunnel of servers that a test plays. */
import type { Socket } from 'node:net';
import type { NodeMetrics } from '../../../../api/node-ports.ts';
import { AgentRequests } from '../../../../transport/tunnels/agent-requests.ts';
import { createScrapes, type ScrapeOutcome } from '../../../../transport/metrics/scrapes.ts';
import type { Scope } from '../../../support/scope.ts';
import { tunnelsFixture } from '../../../support/net/tunnels-fixture.ts';
import { target } from '../../../support/net/listening.ts';

/** A running fixture. */
export interface ScrapeFixture {
  readonly scrapes: NodeMetrics;
  readonly requests: AgentRequests;
  /** What became of scrapes, oldest first. */
  readonly outcomes: readonly ScrapeOutcome[];
}

/** Ports of a node whose exporters are all on this port. */
export function portsOf(port: number) {
  return {
    http_port: port,
    ssh_port: 1,
    host_metrics_port: port,
    wireguard_metrics_port: port,
    http_proxy_port: 1,
    socks5_proxy_port: 1,
  };
}

/** An agent whose servers do this with each connection. It ends with the scope. */
export async function scrapeFixture(
  scope: Scope,
  serve: (socket: Socket) => void,
  msMax = 60_000,
  nowMs?: () => number,
): Promise<ScrapeFixture> {
  const { tunnels } = await tunnelsFixture(scope);
  const port = await target(scope, serve);
  const outcomes: ScrapeOutcome[] = [];
  const requests = new AgentRequests({
    tunnels,
    endpointOf: async () => ({ ports: portsOf(port), tokenHash: Buffer.from('hash') }),
    ...(nowMs !== undefined && { nowMs }),
  });
  return {
    requests,
    outcomes,
    scrapes: createScrapes({ requests, msMax, scraped: (_source, outcome) => outcomes.push(outcome) }),
  };
}

/** An answer of a web server. The length is right unless said otherwise. */
export function answer(
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
  status = '200 OK',
): Buffer {
  const bytes = Buffer.from(body);
  const all: Record<string, string> = {
    'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
    'Content-Length': String(bytes.length),
    ...headers,
  };
  const lines = Object.entries(all)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`), bytes]);
}
