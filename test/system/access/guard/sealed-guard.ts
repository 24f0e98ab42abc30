/**
 * A program for a network of its own, in which every address is this machine: whatever is dialled arrives, and the
 * kernel counts each packet. Attacks with the guard, with private networks open, and without a guard, and prints what
 * was counted, as JSON.
 */
import { readFileSync } from 'node:fs';
import { createGuard } from '../../../../transport/net/outbound-guard/guard.ts';
import { resolverBy } from '../../../../transport/net/outbound-guard/resolution.ts';
import { createScope } from '../../../support/scope.ts';
import { attack, unguarded, type Attack, type Guarding } from './attack.ts';
import { GOOD, hostileUrls, zoneAnswer, type HostileUrl } from './corpus.ts';
import { startDnsServer } from '../../../support/net/dns-server.ts';
import { startTripwire } from './tripwire.ts';

/** What one attack came to. Packets of IPv4 and IPv6 are without the questions and answers of the DNS server. */
export interface GuardOutcome extends Attack {
  readonly urls: number;
  readonly connects: number;
  readonly packets: number;
  readonly arrived: number;
}

/** What this program prints. */
export type SealedOutcome = Readonly<Record<'closed' | 'open' | 'good' | 'unguarded', GuardOutcome>>;

const scope = createScope();
const dns = await startDnsServer(scope, zoneAnswer);
const tripwire = await startTripwire(scope);
const resolve = resolverBy([dns.server]);
const hostile = hostileUrls(tripwire.port);
const good: HostileUrl[] = [GOOD.address, `[${GOOD.address6}]`, GOOD.name].map((host) => ({
  url: `http://${host}:${tripwire.port}/`,
  isDialled: true,
  isNever: false,
}));
const guard = createGuard({ allowPrivate: false, resolve });

const seen: SealedOutcome = {
  closed: await outcomeOf(guard, hostile),
  open: await outcomeOf(
    createGuard({ allowPrivate: true, resolve }),
    hostile.filter((entry) => entry.isNever),
  ),
  good: await outcomeOf(guard, good),
  unguarded: await outcomeOf(
    unguarded(resolve),
    hostile.filter((entry) => entry.isDialled && URL.canParse(entry.url)),
  ),
};
process.stdout.write(JSON.stringify(seen));
await scope.end();

async function outcomeOf(guarding: Guarding, urls: readonly HostileUrl[]): Promise<GuardOutcome> {
  const before = counters();
  const found = await attack(guarding, urls);
  const after = counters();
  return {
    ...found,
    urls: urls.length,
    connects: after.connects - before.connects,
    packets: after.packets - before.packets,
    arrived: after.arrived - before.arrived,
  };
}

function counters(): { connects: number; packets: number; arrived: number } {
  const packets =
    counter('/proc/self/net/snmp', 'Ip', 'OutRequests') + counter6('Ip6OutRequests') - 2 * dns.questions.length;
  return { connects: counter('/proc/self/net/snmp', 'Tcp', 'ActiveOpens'), packets, arrived: tripwire.arrived.length };
}

/** A counter of the kernel: two lines a protocol, names and values. Source: proc_net(5), RFC 4293, RFC 4022. */
function counter(file: string, protocol: string, name: string): number {
  const [names = [], values = []] = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`${protocol}:`))
    .map((line) => line.split(/\s+/u));
  return Number(values[names.indexOf(name)]);
}

function counter6(name: string): number {
  return Number(
    /\d+/u.exec(
      readFileSync('/proc/self/net/snmp6', 'utf8')
        .split('\n')
        .find((line) => line.startsWith(name))
        ?.slice(name.length) ?? '',
    )?.[0],
  );
}
