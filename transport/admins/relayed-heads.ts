/** Heads of upgrades that one admin passes on to another: what of the agent's crosses, and what it is answered. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** What makes the upgrade (RFC 6455, 4.1), and nothing else of what the agent sent. */
const PASSED_ON = [
  'upgrade',
  'connection',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
];

/** And of the answer (RFC 6455, 4.2.2). */
const ANSWERED = new Set([
  'upgrade',
  'connection',
  'sec-websocket-accept',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
]);

/** Statuses, each with its header, for `answer`. */
export const UNAUTHORIZED = '401 Unauthorized\r\nwww-authenticate: Bearer';
export const UNAVAILABLE = '503 Service Unavailable\r\nretry-after: 1';

/** The headers of the agent's that cross. */
export function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  return Object.fromEntries(PASSED_ON.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])));
}

/** What the agent is answered where the other admin takes its upgrade. */
export function switched({ rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 && ANSWERED.has(name.toLowerCase()) ? [`${name}: ${rawHeaders[at + 1] ?? ''}\r\n`] : [],
  );
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`;
}

/** Refuses the upgrade, and ends its connection. */
export function answer(near: Duplex, status: string): void {
  near.once('finish', () => near.destroy());
  near.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
