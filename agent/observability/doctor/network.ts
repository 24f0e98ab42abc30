/** The network under everything else: interfaces, names, the way to the admins, and the clock. */
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { addressClass } from '../../../transport/net/addresses.ts';
import { CLEAR_TEXT_HINT, clearTextAdmins } from '../../enrollment/clear-text.ts';
import type { OutboundProxy } from '../../outbound/proxy-choice.ts';
import { failed, passed, warned } from './check.ts';
import type { Check, Finding } from './check.ts';
import type { AdminAnswer } from './admin-answers.ts';

/** Above this a name took suspiciously long, in ms. */
const RESOLVE_MS_WARN = 1_000;

/**
 * The clock of this machine may be so far from the admin's, in ms. Beyond the second, certificates and signatures begin
 * to fail.
 */
const SKEW_MS_WARN = 2_000;
const SKEW_MS_FAIL = 30_000;

/** What these checks look at. */
export interface NetworkSources {
  /** In order of preference, at least one where the machine is enrolled. */
  readonly adminUrls: () => readonly string[];
  /** What they answer, asked once a report, within the time of a check. */
  readonly answers: () => Promise<readonly AdminAnswer[]>;
  /** The proxy on the way to an admin, which then resolves its name; null: none. Left out: there is none at all. */
  readonly proxyFor?: (url: string) => OutboundProxy | null;
  /** Where /proc is. */
  readonly proc: string;
}

/** In their order. */
export function networkChecks(sources: NetworkSources): readonly Check[] {
  return [
    { name: 'interface', look: () => interfaces(sources.proc) },
    { name: 'dns', look: () => names(dialledHosts(sources)) },
    { name: 'admins', look: async () => admins(await sources.answers()) },
    { name: 'encryption', look: () => encryption(sources.adminUrls()) },
    { name: 'clock', look: async () => clock(await sources.answers()) },
  ];
}

async function interfaces(proc: string): Promise<Finding> {
  const up = Object.entries(networkInterfaces())
    .filter(([, addresses]) =>
      addresses?.some(({ internal, address }) => !internal && addressClass(address) !== 'link-local'),
    )
    .map(([name]) => name);
  const [v4, v6] = await Promise.all([defaultRouteV4(proc), defaultRouteV6(proc)]);
  const routes = [...new Set([...v4, ...v6])];
  const details = { interfaces: up.join(' ').slice(0, 256), default_route: routes.join(' ').slice(0, 256) || null };
  if (up.length === 0)
    return failed(
      'No network interface of this machine is up with an address.',
      'Plug in a cable or join a network, and check DHCP: `ip address` shows what there is.',
      details,
    );
  if (routes.length === 0)
    return warned(
      'This machine has no default route: it reaches its own networks only.',
      'Check the gateway of its network: `ip route` shows what there is.',
      details,
    );
  return passed(
    `${up.length === 1 ? 'One interface is' : `${up.length} interfaces are`} up with an address, and the default route leads through ${routes.join(' and ')}.`,
    details,
  );
}

/** Interfaces of default routes that are up. Source: Linux, /proc/net/route: flag 1 is up. */
async function defaultRouteV4(proc: string): Promise<readonly string[]> {
  const lines = await linesOf(`${proc}/net/route`);
  return lines
    .slice(1)
    .map((line) => line.split(/\s+/u))
    .filter(
      ([, destination, , flags = '0', , , , mask]) =>
        destination === '00000000' && mask === '00000000' && (Number.parseInt(flags, 16) & 1) === 1,
    )
    .map(([name = '']) => name);
}

/**
 * Source: Linux, /proc/net/ipv6_route: destination and its prefix come first, flags and interface last; flag 0x200 is a
 * route that rejects.
 */
async function defaultRouteV6(proc: string): Promise<readonly string[]> {
  const lines = await linesOf(`${proc}/net/ipv6_route`);
  return lines
    .map((line) => line.trim().split(/\s+/u))
    .filter(
      (fields) =>
        /^0{32}$/u.test(fields[0] ?? '') &&
        fields[1] === '00' &&
        (Number.parseInt(fields[8] ?? '0', 16) & 0x200) === 0 &&
        fields[9] !== 'lo',
    )
    .map((fields) => fields[9] ?? '');
}

async function linesOf(path: string): Promise<readonly string[]> {
  try {
    return (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  } catch {
    return []; // no such family on this machine
  }
}

/** What this machine itself has to find the address of: admins, or the proxies before them. */
function dialledHosts({ adminUrls, proxyFor }: NetworkSources): readonly string[] {
  const hosts = adminUrls()
    .filter((url) => URL.canParse(url))
    .map((url) => proxyFor?.(url)?.host ?? new URL(url).hostname.replaceAll(/^\[|\]$/gu, ''));
  return [...new Set(hosts)];
}

async function names(hosts: readonly string[]): Promise<Finding> {
  const wanted = hosts.filter((host) => isIP(host) === 0);
  if (hosts.length === 0)
    return warned(
      'No admin is known to this machine, so there is no name to resolve.',
      'Set ENROLLMENT_KEY, or ADMIN_URLS.',
    );
  if (wanted.length === 0)
    return passed('No name has to be resolved: the admins are named by their addresses.', { names: 0 });
  const answers = await Promise.all(wanted.map(resolved));
  const lost = answers.filter(({ isKnown }) => !isKnown).map(({ host }) => host);
  const slowestMs = Math.max(...answers.map(({ ms }) => ms));
  const details = { names: wanted.length, unresolved: lost.length, slowest_ms: slowestMs };
  const hint =
    'Check the name servers of this machine (/etc/resolv.conf, `resolvectl status`), and the names in ADMIN_URLS.';
  if (lost.length === wanted.length)
    return failed(
      `${lost.length === 1 ? `The name ${lost[0]} cannot` : `None of the ${lost.length} names of admins can`} be resolved.`,
      hint,
      details,
    );
  if (lost.length > 0)
    return warned(
      `${lost.length} of ${wanted.length} names of admins cannot be resolved: ${lost.join(', ').slice(0, 256)}.`,
      hint,
      details,
    );
  if (slowestMs > RESOLVE_MS_WARN)
    return warned(`The names of the admins are resolved, but that took ${slowestMs} ms.`, hint, details);
  return passed(
    `${wanted.length === 1 ? `The name ${wanted[0]} is` : `${wanted.length} names of admins are`} resolved within ${slowestMs} ms.`,
    details,
  );
}

/**
 * By the system, as the agent's own connections do it. A look-up that hangs cannot be cut; the check is over without
 * it.
 */
async function resolved(
  host: string,
): Promise<{ readonly host: string; readonly isKnown: boolean; readonly ms: number }> {
  const startedMs = performance.now();
  const isKnown = await lookup(host).then(
    () => true,
    () => false,
  );
  return { host, isKnown, ms: Math.round(performance.now() - startedMs) };
}

function admins(answers: readonly AdminAnswer[]): Finding {
  const [first] = answers;
  if (first === undefined) return failed('No admin is known to this machine.', 'Set ENROLLMENT_KEY, or ADMIN_URLS.');
  const details = Object.fromEntries(
    answers.map(({ origin, problem, status, latencyMs }, index) => [
      `admin_${index + 1}`,
      `${origin}: ${problem ?? `status ${status}, ${latencyMs} ms`}`.slice(0, 256),
    ]),
  );
  const usable = answers.filter(({ problem }) => problem === null);
  const [best] = usable;
  if (best === undefined)
    return failed(
      `${answers.length === 1 ? `The admin ${first.origin} is not` : `None of the ${answers.length} admins is`} reachable: ${first.problem}.`,
      'Check that an admin runs there, that ADMIN_URLS is right, and that firewalls and proxies let this machine out.',
      details,
    );
  if (first.problem !== null)
    return warned(
      `The first admin, ${first.origin}, is not reachable (${first.problem}); ${usable.length} of ${answers.length} are.`,
      'Repair the first one, or put one that works first in ADMIN_URLS.',
      details,
    );
  if (usable.length < answers.length)
    return passed(
      `${usable.length} of ${answers.length} admins answer, the first one within ${best.latencyMs} ms.`,
      details,
    );
  return passed(
    answers.length === 1
      ? `The admin ${best.origin} answers within ${best.latencyMs} ms.`
      : `All ${answers.length} admins answer, the first one within ${best.latencyMs} ms.`,
    details,
  );
}

function encryption(urls: readonly string[]): Finding {
  const clear = clearTextAdmins(urls);
  if (clear.length === 0) return passed('Nothing goes to admins unencrypted beyond this machine.');
  const summary = `${clear.length === 1 ? `The admin ${clear[0]} is` : `${clear.length} admins are`} reached without encryption: the token of this node can be read on the way.`;
  return warned(summary, CLEAR_TEXT_HINT, { admins: clear.join(' ').slice(0, 256) });
}

function clock(answers: readonly AdminAnswer[]): Finding {
  const told =
    answers.find(({ skewMs, problem }) => skewMs !== null && problem === null) ??
    answers.find(({ skewMs }) => skewMs !== null);
  if (told?.skewMs == null)
    return warned('No admin told the time, so this clock could not be compared.', 'See the check `admins`.');
  const aheadMs = told.skewMs;
  const details = {
    ahead_ms: aheadMs,
    accuracy_ms: 500 + Math.round(told.latencyMs / 2),
    admin: told.origin.slice(0, 256),
  };
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  const summary = `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the admin.`;
  const hint =
    'Set the clock of this machine and keep it set: `timedatectl set-ntp true`, or chrony. If it is right, the clock of the admin is wrong.';
  if (Math.abs(aheadMs) > SKEW_MS_FAIL) return failed(summary, hint, details);
  if (Math.abs(aheadMs) > SKEW_MS_WARN) return warned(summary, hint, details);
  return passed('The clock of this machine agrees with that of the admin.', details);
}
