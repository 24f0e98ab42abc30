/** The admin's HTTP proxy: where it is, and the key that it takes. */
import { shownUrl, storedProxy, type Connection } from '../service/connection.ts';
import { nonEmpty, type Environment } from '../service/contexts.ts';
import { EXIT, Problem, problemOf } from '../problem.ts';
import { checkedPort } from './host-names.ts';

/** Ports of the admin's proxies when nothing else is said. Source: docs/settings.md. */
export const HTTP_PROXY_PORT = 43_128;
export const SOCKS5_PROXY_PORT = 41_080;

/**
 * Username with which a destination is a port of a node itself. Any other is the host name of the node to go through.
 * Source: docs/reaching.md.
 */
export const SELF_USERNAME = '_';

/** Where the proxy is. The key goes there in the clear unless `isTls`. */
export interface Proxy {
  /** Without any key: for messages. */
  readonly url: string;
  /** A name or an address, an IPv6 one without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** Null: none is known; a proxy without enforcement takes any. */
  readonly key: string | null;
  /** What the service told of its proxies; null: it was not asked. */
  readonly told: ToldPorts;
}

/** Where an admin says that its proxies listen, beside itself; null: it has none. */
export type ToldPorts = { readonly http_port: number; readonly socks5_port: number } | null;

/**
 * The proxy of the service: what EDGE_PROXY_URL and EDGE_PROXY_KEY say, before what `edge login` remembers for this
 * service, before its host with the port that it tells and the key of the API. No key goes where nobody said a proxy
 * is, nor in the clear where the service is behind TLS.
 */
export async function proxyOf(
  connection: Connection,
  env: Environment,
  askPorts: () => Promise<ToldPorts | undefined>,
): Promise<Proxy> {
  return proxyFrom(connection, env, isProxyNamed(connection, env) ? null : await toldPorts(connection, askPorts));
}

/** Whether somebody has said where the proxy of this service is: then the service is not asked. */
export function isProxyNamed({ url }: Connection, env: Environment): boolean {
  return nonEmpty(env['EDGE_PROXY_URL']) !== undefined || storedProxy(url, env).proxyUrl !== undefined;
}

/** What the service tells. It is not asked where its proxy cannot be used without more words anyhow. */
async function toldPorts(connection: Connection, askPorts: () => Promise<ToldPorts | undefined>): Promise<ToldPorts> {
  const { url, key } = connection;
  if (url.startsWith('https:')) return null;
  const ports = await askPorts().catch((error: unknown) => {
    if (key !== null || problemOf(error, connection).status !== EXIT.auth) throw error;
    throw new Problem(
      `${url} says where its proxy is to who has a key of its API: set EDGE_PROXY_URL, or EDGE_API_KEY`,
      EXIT.auth,
    );
  });
  if (ports === null)
    throw new Problem(`${url} has no proxy: see ADMIN_PROXY_ENABLED of edge-admin, or set EDGE_PROXY_URL`);
  return ports ?? null;
}

/** The same, with what the service told. */
export function proxyFrom({ url, key }: Connection, env: Environment, told: ToldPorts): Proxy {
  const stored = storedProxy(url, env);
  const named = nonEmpty(env['EDGE_PROXY_URL']);
  const proxy = parsedProxy(named ?? stored.proxyUrl ?? besideService(url, told));
  const given = nonEmpty(env['EDGE_PROXY_KEY']);
  const isOfLogin =
    given === undefined &&
    (stored.proxyKey !== undefined ||
      (key !== null && key === stored.key && nonEmpty(env['EDGE_API_KEY']) === undefined));
  if (isOfLogin && !isProxyOf(proxy, url, stored.proxyUrl))
    throw new Problem(
      `the key that edge login remembers is not sent to ${proxy.url}, which is not the proxy of ${url}: set EDGE_PROXY_KEY, or run edge login --proxy-url ${proxy.url}`,
      EXIT.auth,
    );
  return { ...proxy, key: given ?? stored.proxyKey ?? key, told };
}

/** Whether a proxy belongs to a service: it was remembered with it, or is on its host. */
function isProxyOf(proxy: Pick<Proxy, 'url' | 'host'>, service: string, rememberedUrl: string | undefined): boolean {
  return (
    isOnHostOf(proxy.host, service) || (rememberedUrl !== undefined && proxy.url === parsedProxy(rememberedUrl).url)
  );
}

function isOnHostOf(host: string, service: string): boolean {
  return host === new URL(service).hostname.replace(/^\[|\]$/gu, '');
}

/** Reads the URL of a proxy. Throws a Problem for what is none. */
export function parsedProxy(text: string): Omit<Proxy, 'key' | 'told'> {
  const url = /^https?:\/\//u.test(text) && URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['', '/'].includes(url.pathname + url.search + url.hash))
    throw new Problem(
      `"${shownUrl(text)}" is no URL of a proxy: EDGE_PROXY_URL should be like http://HOST:${HTTP_PROXY_PORT}`,
      EXIT.usage,
    );
  if (url.username !== '' || url.password !== '')
    throw new Problem('the URL of the proxy must not hold the key: give it as EDGE_PROXY_KEY', EXIT.usage);
  const isTls = url.protocol === 'https:';
  return {
    url: url.origin,
    host: url.hostname.replace(/^\[|\]$/gu, ''),
    port: Number(url.port || (isTls ? 443 : 80)),
    isTls,
  };
}

/**
 * The SOCKS5 proxy as `host:port`: what EDGE_SOCKS5_URL says, before the host of the HTTP proxy with the port that the
 * service tells, where that is on its host. The key goes to no port that nobody named, and not in the clear where the
 * HTTP proxy is behind TLS.
 */
export async function socks5Authority(
  { url, host, isTls, told }: Omit<Proxy, 'key'>,
  { url: service }: Pick<Connection, 'url'>,
  env: Environment,
  askPorts: () => Promise<ToldPorts | undefined>,
): Promise<string> {
  const given = nonEmpty(env['EDGE_SOCKS5_URL']);
  if (given === undefined) {
    const ports = told ?? (!isTls && isOnHostOf(host, service) ? await askPorts() : null) ?? null;
    if (ports !== null) return `${new URL(url).hostname}:${checkedPort(ports.socks5_port)}`;
    throw new Problem(
      `nobody says where the SOCKS5 proxy beside ${url} is: set EDGE_SOCKS5_URL, such as socks5://HOST:${SOCKS5_PROXY_PORT}`,
    );
  }
  const found = /^socks5h?:\/\/(?<authority>(?:\[[\da-f:.]+\]|[\w.-]+):\d{1,5})\/?$/iu.exec(given)?.groups?.[
    'authority'
  ];
  if (found === undefined)
    throw new Problem(
      `"${shownUrl(given)}" is no URL of a SOCKS5 proxy: EDGE_SOCKS5_URL should be like socks5://HOST:${SOCKS5_PROXY_PORT}`,
      EXIT.usage,
    );
  return found;
}

function besideService(serviceUrl: string, told: ToldPorts): string {
  const { protocol, hostname } = new URL(serviceUrl);
  if (protocol === 'https:')
    throw new Problem(
      `${serviceUrl} is reached by TLS, which its proxy has not by itself: set EDGE_PROXY_URL (or edge login --proxy-url) to https://HOST:PORT where TLS stands before it, or to http://${hostname}:${HTTP_PROXY_PORT} if the key may go there in the clear`,
      EXIT.usage,
    );
  if (told === null)
    throw new Problem(
      `${serviceUrl} does not say where its proxy is: set EDGE_PROXY_URL, or run edge login --proxy-url`,
    );
  return `http://${hostname}:${checkedPort(told.http_port)}`;
}
