/**
 * The cluster's domain at systemd-resolved, for the interface of the VPN: it asks us for these names and nobody for
 * others.
 */
import { existsSync } from 'node:fs';
import { execute } from '../../../../transport/net/execute.ts';
import { programEnvironment } from '../../../../transport/vpn/wireguard/programs.ts';
import { COMMAND_MS_MAX } from '../limits.ts';
import { beginningOf } from './beginning.ts';

/** Where it is. */
export interface ResolvedOptions {
  readonly interfaceName: string;
  /** Its command; `resolvectl`. */
  readonly program: string;
  /** Where Linux shows interfaces; /sys/class/net. */
  readonly interfaces: string;
}

/** What of the machine says whether programs ask systemd-resolved. */
export interface ResolutionFiles {
  readonly resolvConf: string;
  readonly nsswitch: string;
}

/** How a command went: what it printed, or why it failed. */
type Ran = { readonly ok: true; readonly output: string } | { readonly ok: false; readonly reason: string };

/** Addresses on which it listens. Source: systemd-resolved.service(8). No blank of it is a line end: see MODULE. */
const STUB = /^[ \t]*nameserver[ \t]+127\.0\.0\.5[34][ \t]*$/mu;

/**
 * Its module for programs that use the C library's `getaddrinfo`. Source: nss-resolve(8). Nothing of it runs over the
 * end of a line, which `^` takes for the beginning of one: each of many would be gone through from each.
 */
const MODULE = /^[ \t]*hosts:(?:[^#\r\n]*[ \t])?resolve(?:[ \t]|$)/mu;

/** Whether what is told to systemd-resolved reaches programs of this machine. */
export function isResolvedUsed({ resolvConf, nsswitch }: ResolutionFiles): boolean {
  return STUB.test(textOf(resolvConf)) || MODULE.test(textOf(nsswitch));
}

/** Routes the domains to the servers. Null, or why not as the end of a sentence. */
export async function hookResolved(
  options: ResolvedOptions,
  servers: readonly string[],
  domains: readonly string[],
): Promise<string | null> {
  const { interfaceName } = options;
  const main = await inTurn(options, [
    ['dns', interfaceName, ...servers],
    ['domain', interfaceName, ...domains.map((domain) => `~${domain}`)],
  ]);
  if (main !== null) {
    await unhookResolved(options);
    return main;
  }
  // Older ones lack some of these, and then do not have what they turn off.
  for (const words of [
    ['default-route', interfaceName, 'false'],
    ['dnssec', interfaceName, 'no'],
    ['dnsovertls', interfaceName, 'no'],
    ['llmnr', interfaceName, 'no'],
    ['mdns', interfaceName, 'no'],
  ])
    await run(options, words);
  return null;
}

/**
 * Number of the interface; it has another one when it is made anew, and nothing of the old one is kept. Empty: it is
 * not there.
 */
export function interfaceIndex({ interfaces, interfaceName }: ResolvedOptions): string {
  return textOf(`${interfaces}/${interfaceName}/ifindex`).trim();
}

/**
 * Whether the domains are still routed there: an interface that was made anew, or whoever manages networks, forgets.
 */
export async function isHookedAtResolved(
  options: ResolvedOptions,
  servers: readonly string[],
  domains: readonly string[],
): Promise<boolean> {
  const [dns, domain] = [
    await run(options, ['dns', options.interfaceName]),
    await run(options, ['domain', options.interfaceName]),
  ];
  const words = (ran: Ran) => (ran.ok ? ran.output.trim().split(/\s+/u) : []);
  return (
    servers.every((server) => words(dns).includes(server)) && domains.every((one) => words(domain).includes(`~${one}`))
  );
}

/** Takes everything back. Without the interface there is nothing. */
export async function unhookResolved(options: ResolvedOptions): Promise<void> {
  if (existsSync(`${options.interfaces}/${options.interfaceName}`))
    await run(options, ['revert', options.interfaceName]);
}

async function inTurn(options: ResolvedOptions, commands: readonly (readonly string[])[]): Promise<string | null> {
  for (const words of commands) {
    const ran = await run(options, words);
    if (!ran.ok) return ran.reason;
  }
  return null;
}

/** Never rejects. What the program prints is not passed on: it may hold addresses of the VPN (R3). */
function run({ program }: ResolvedOptions, words: readonly string[]): Promise<Ran> {
  const { promise, resolve } = Promise.withResolvers<Ran>();
  execute(
    program,
    words,
    {
      timeout: COMMAND_MS_MAX,
      killSignal: 'SIGKILL',
      env: { ...programEnvironment(), LC_ALL: 'C', SYSTEMD_COLORS: '0', SYSTEMD_PAGER: '' },
    },
    (error, output) => {
      if (error === null) return resolve({ ok: true, output });
      if (error.code === 'ENOENT') return resolve({ ok: false, reason: 'resolvectl is not there' });
      resolve({
        ok: false,
        reason:
          error.killed === true
            ? `resolvectl ${words[0]} took over ${COMMAND_MS_MAX} ms`
            : `resolvectl ${words[0]} failed`,
      });
    },
  );
  return promise;
}

function textOf(path: string): string {
  try {
    return beginningOf(path).text;
  } catch {
    return '';
  }
}
