/** How connections to admins leave this machine: directly, or through the HTTP proxy of its settings. */
import type { Agent, ClientRequestArgs } from 'node:http';
import { isIP, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { proxyFor, type OutboundProxy, type ProxyVariables } from './proxy-choice.ts';
import { throughProxy } from './proxy-tunnel.ts';

/** Ways to admins. */
export interface Outbound {
  /** For the `agent` of a request of `node:http` to this URL; false: a connection of its own, without a proxy. */
  agentFor(url: string): Agent | false;
  /** The proxy on the way to this URL; null: none. */
  proxyFor(url: string): OutboundProxy | null;
}

/** Without a proxy. */
export const DIRECT: Outbound = { agentFor: () => false, proxyFor: () => null };

/** As the settings say. */
export function createOutbound(variables: ProxyVariables): Outbound {
  if (variables.HTTPS_PROXY === undefined && variables.HTTP_PROXY === undefined) return DIRECT;
  return {
    agentFor(url) {
      const proxy = proxyFor(url, variables);
      return proxy !== null && agentThrough(proxy, /^(?:https|wss):/u.test(url));
    },
    proxyFor: (url) => proxyFor(url, variables),
  };
}

/**
 * Makes each connection through the proxy, keeps none. Also for plain HTTP by CONNECT: of WebSockets a proxy knows
 * nothing else.
 */
function agentThrough(proxy: OutboundProxy, isSecure: boolean): Agent {
  // Not by `import`: see agent/outbound/http-exchange.ts.
  const { Agent: Plain } = process.getBuiltinModule(isSecure ? 'node:https' : 'node:http');
  const agent = new Plain({ keepAlive: false });
  agent.createConnection = (options, callback) => {
    void hand(connected(proxy, options, isSecure), callback);
    return undefined;
  };
  return agent;
}

async function hand(
  connecting: Promise<Duplex>,
  taken: ((error: Error | null, stream: Duplex) => void) | undefined,
): Promise<void> {
  let stream: Duplex;
  try {
    stream = await connecting;
  } catch (error) {
    return taken?.(error as Error, new Socket()); // which nobody looks at beside an error
  }
  taken?.(null, stream);
}

async function connected(
  proxy: OutboundProxy,
  { host: asked, port }: ClientRequestArgs,
  isSecure: boolean,
): Promise<Duplex> {
  const host = asked ?? 'localhost';
  const socket = await throughProxy(proxy, { host, port: Number(port ?? (isSecure ? 443 : 80)) });
  if (!isSecure) return socket;
  return connectTls({ socket, host, ALPNProtocols: ['http/1.1'], ...(isIP(host) === 0 && { servername: host }) });
}
