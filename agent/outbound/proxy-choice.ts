/**
 * Which HTTP proxy a connection to an admin goes through, as the variables say that most programs know: HTTPS_PROXY,
 * HTTP_PROXY and NO_PROXY. Pure.
 */
import { isLoopbackHost } from '../../transport/net/addresses.ts';
import { hostRule, ruleFor } from '../access/egress/host-rules.ts';

/** A proxy. */
export interface OutboundProxy {
  /** Scheme, host and port, for messages: no credential. */
  readonly origin: string;
  /** A name or an address, an IPv6 one without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** What is shown to it; null: nothing. */
  readonly authorization: string | null;
}

/** The variables. */
export interface ProxyVariables {
  readonly HTTPS_PROXY?: string | undefined;
  readonly HTTP_PROXY?: string | undefined;
  readonly NO_PROXY?: readonly string[] | undefined;
}

/** Entries of NO_PROXY: each connection looks through all. */
export const NO_PROXY_MAX = 256;

/** Reads the URL of a proxy, with or without its scheme; null when it is none. */
export function proxyOf(text: string): OutboundProxy | null {
  const written = text.includes('://') ? text : `http://${text}`;
  if (!/^https?:\/\//iu.test(written) || !URL.canParse(written)) return null;
  const url = new URL(written);
  if (url.hostname === '' || !['', '/'].includes(url.pathname + url.search + url.hash)) return null;
  const isTls = url.protocol === 'https:';
  const credentials = credentialsOf(url);
  if (credentials === null) return null;
  return {
    origin: url.origin,
    host: bare(url.hostname),
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    isTls,
    authorization: credentials === ':' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

/**
 * The proxy on the way to a URL; null: it is connected to directly, as this machine itself always is. A proxy that
 * cannot be read is none: settings were checked before.
 */
export function proxyFor(url: string, variables: ProxyVariables): OutboundProxy | null {
  if (!URL.canParse(url)) return null;
  const { protocol, hostname, port } = new URL(url);
  const isSecure = protocol === 'https:' || protocol === 'wss:';
  const text = isSecure ? variables.HTTPS_PROXY : variables.HTTP_PROXY;
  if (text === undefined) return null;
  const target = { host: bare(hostname).toLowerCase(), port: port === '' ? (isSecure ? '443' : '80') : port };
  if (isOwn(target.host) || (variables.NO_PROXY ?? []).some((entry) => isExcepted(entry, target))) return null;
  return proxyOf(text);
}

/** The environment with these variables under their upper-case names, where only the lower-case ones are set. */
export function withProxyVariables(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const filled = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'].map((name) => [name, env[name] || env[name.toLowerCase()]]);
  return { ...env, ...Object.fromEntries(filled) };
}

/** User name and password with a colon between; null: they are not percent-encoded as in a URL. */
function credentialsOf({ username, password }: URL): string | null {
  try {
    return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  } catch {
    return null;
  }
}

/**
 * An entry is `*`, a name that also means all names below it, an address or a range; of some programs with a dot or
 * `*.` before, or a port behind.
 */
function isExcepted(entry: string, { host, port }: { readonly host: string; readonly port: string }): boolean {
  if (entry === '*') return true;
  const {
    v6,
    name = entry,
    only,
  } = /^(?:\[(?<v6>[^\]]+)\]|(?<name>[^:]+))(?::(?<only>\d{1,5}))?$/u.exec(entry)?.groups ?? {};
  if (only !== undefined && only !== port) return false;
  const bareEntry = (v6 ?? name).toLowerCase().replace(/^\*?\./u, '');
  const rules = [hostRule(bareEntry), hostRule(`*.${bareEntry}`)].filter((rule) => rule !== null);
  return ruleFor(host, rules) !== undefined;
}

function isOwn(host: string): boolean {
  return isLoopbackHost(host) || host.endsWith('.localhost');
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/gu, '');
}
