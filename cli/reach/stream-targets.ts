/** Where streams go: their targets, as people write it on the command line. */
import { isIPv6 } from 'node:net';
import { EXIT, Problem } from '../problem.ts';
import { SELF_USERNAME } from './proxy.ts';

/** A name or an address, an IPv6 one without brackets; port 1 to 65535. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/** What the proxy is asked: the username says by which way. */
export interface Way extends Target {
  readonly username: string;
}

/** A local port that leads to a target. Local port 0 is a free one. */
export interface Forward {
  readonly listen: Target;
  readonly target: Target;
}

const HOST = String.raw`\[[\da-f:.]+\]|[\w.-]+`;
const TARGET = new RegExp(`^(?:(?<host>${HOST}):)?(?<port>\\d{1,5})$`, 'iu');
const FORWARD = new RegExp(`^(?:(?<bind>${HOST}):)?(?<local>\\d{1,5}):(?<host>${HOST}):(?<port>\\d{1,5})$`, 'iu');

/** Where a forward listens when nothing else is said: on no other machine's wires. */
const LOCAL_HOST = '127.0.0.1';

/** `PORT` of the node itself, or `HOST:PORT` that it reaches. Throws a Problem for what is neither. */
export function targetOf(text: string): Target {
  const { host = 'localhost', port = '' } = TARGET.exec(text)?.groups ?? {};
  const target = readTarget(host, port, 1);
  if (target === null)
    throw new Problem(`"${text}" is neither a port nor HOST:PORT: it should be like 22 or 10.0.0.5:22`, EXIT.usage);
  return target;
}

/** `[LOCAL_HOST:]LOCAL_PORT:HOST:PORT`. Throws a Problem for anything else. */
export function forwardOf(text: string): Forward {
  const { bind = LOCAL_HOST, local = '', host = '', port = '' } = FORWARD.exec(text)?.groups ?? {};
  const [listen, target] = [readTarget(bind, local, 0), readTarget(host, port, 1)];
  if (listen === null || target === null)
    throw new Problem(
      `"${text}" is no forward: it should be LOCAL_PORT:HOST:PORT, such as 8080:localhost:80, or LOCAL_HOST:LOCAL_PORT:HOST:PORT`,
      EXIT.usage,
    );
  return { listen, target };
}

/**
 * The way to a target by a node, which is called by its host name: loopback is the node itself, the rest lies behind
 * it.
 */
export function wayTo(nodeHost: string, { host, port }: Target): Way {
  return isNodeItself(host) ? { username: SELF_USERNAME, host: nodeHost, port } : { username: nodeHost, host, port };
}

/** A target in one word, an IPv6 address in brackets. */
export function targetText({ host, port }: Target): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function readTarget(host: string, port: string, portMin: number): Target | null {
  const [bare, number] = [host.replace(/^\[|\]$/gu, ''), Number(port)];
  if (port === '' || number < portMin || number > 65_535 || (host.startsWith('[') && !isIPv6(bare))) return null;
  return { host: bare, port: number };
}

/**
 * The names of loopback that a tunnel to the node itself stands for. Its other addresses go to the node's own rules.
 */
function isNodeItself(host: string): boolean {
  return host.toLowerCase() === 'localhost' || host === '127.0.0.1' || host === '::1';
}
