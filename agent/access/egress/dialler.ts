/**
 * Egress of this machine: what is asked for is checked, and the addresses that were checked are the ones that are
 * dialled.
 */
import { isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { bareHost, isLiteral } from '../../../transport/net/outbound-guard/destination.ts';
import type { Resolve } from '../../../transport/net/outbound-guard/resolution.ts';
import { createVet, type CheckedAddress, type Vet } from '../../../transport/net/outbound-guard/vetting.ts';
import { DIAL_FAILURES, notDialled, type DialFailure, type Dialled } from '../../../transport/net/streams/dialled.ts';
import type { OwnServers } from '../../own-servers.ts';
import { connectToFirst, type Connection } from './connection.ts';
import type { Egress, EgressTarget, EgressUse } from './egress.ts';
import { createEgressPolicy, isLoop, type EgressPolicy, type EgressRules, type Listening } from './policy.ts';

/** Longest wait for an open stream, look-up included, in ms: four SYNs of Linux (at 0, 1, 3 and 7 s) fit. */
export const DIAL_MS_MAX = 10_000;

/** Dials under way at once, a use: the admin's are not kept waiting by clients of this machine's proxies. */
export const DIALS_MAX = 256;

/**
 * Streams open at once, a use. Two files each, of the 20,000 and more that Node may open where the system's hard limit
 * is common.
 */
export const STREAMS_MAX = 4_096;

/** What egress takes. */
export interface EgressOptions {
  readonly rules: EgressRules;
  /** Where this agent's own proxies listen now; nobody is sent back to them. */
  readonly proxies?: () => readonly Listening[];
  /** Servers of this agent that admins reach, whoever has their ports. */
  readonly own?: Pick<OwnServers, 'find'>;
  /** Who knows the addresses of names; the system, unless a test has servers of its own. */
  readonly resolve?: Resolve;
  readonly dialMsMax?: number;
  readonly dialsMax?: number;
  readonly streamsMax?: number;
}

/** What went out so far, for health and metrics. */
export interface EgressCounts {
  /** Streams that were opened. */
  readonly opened: number;
  /** Streams that are open now. */
  readonly open: number;
  /** Dials that came to nothing, by reason. */
  readonly failures: Readonly<Record<DialFailure, number>>;
  /** Those of them that were `blocked`, by what was wrong. */
  readonly blocked: Readonly<Record<'port' | 'host', number>>;
}

/** A connection that did not come about. */
type Connecting = Extract<Connection, { readonly ok: false }>;

/** Those who wait or have a stream, of one use. */
interface Load {
  dials: number;
  streams: number;
}

/** This machine, for who may reach nothing else. Most servers listen on IPv4. */
const SELF: readonly CheckedAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

const OVERLOADED = notDialled('overloaded', 'The machine has too many connections open: try again later.');

/** Egress of this machine, counted. */
export class CountedEgress implements Egress {
  readonly #policy: EgressPolicy;
  readonly #vets: Readonly<Record<Exclude<EgressUse, 'self'>, Vet>>;
  readonly #proxies: () => readonly Listening[];
  readonly #own: Pick<OwnServers, 'find'>;
  readonly #limits: { readonly dialMsMax: number; readonly dialsMax: number; readonly streamsMax: number };
  readonly #load: Readonly<Record<EgressUse, Load>> = { self: idle(), chain: idle(), proxy: idle(), ssh: idle() };
  readonly #failures = Object.fromEntries(DIAL_FAILURES.map((failure) => [failure, 0])) as Record<DialFailure, number>;
  readonly #blocked = { port: 0, host: 0 };
  #opened = 0;

  constructor(options: EgressOptions) {
    const { rules, resolve, dialMsMax = DIAL_MS_MAX, dialsMax = DIALS_MAX, streamsMax = STREAMS_MAX } = options;
    const policy = createEgressPolicy(rules);
    const vetFor = (use: Exclude<EgressUse, 'self'>): Vet =>
      createVet({ ...policy.addressPolicy(use), ...(resolve && { resolve }) });
    this.#policy = policy;
    this.#vets = { chain: vetFor('chain'), proxy: vetFor('proxy'), ssh: vetFor('ssh') };
    this.#proxies = options.proxies ?? (() => []);
    this.#own = options.own ?? { find: () => undefined };
    this.#limits = { dialMsMax, dialsMax, streamsMax };
  }

  async dial(target: EgressTarget, use: EgressUse, signal: AbortSignal): Promise<Dialled> {
    const dialled = await this.#dialWithinLimits(target, use, signal);
    if (dialled.ok) this.#opened += 1;
    else this.#failures[dialled.failure] += 1;
    return dialled;
  }

  counts(): EgressCounts {
    return {
      opened: this.#opened,
      open: Object.values(this.#load).reduce((sum, { streams }) => sum + streams, 0),
      failures: { ...this.#failures },
      blocked: { ...this.#blocked },
    };
  }

  /** In number, and in time. */
  async #dialWithinLimits(target: EgressTarget, use: EgressUse, signal: AbortSignal): Promise<Dialled> {
    const own = use === 'self' ? this.#own.find(target) : undefined;
    if (own === null) return notListening(target);
    const problem = own === undefined ? this.#policy.portProblem(target.port, use) : undefined;
    if (problem !== undefined) return this.#refused('port', problem);
    const { dialMsMax, dialsMax, streamsMax } = this.#limits;
    const load = this.#load[use];
    if (load.dials >= dialsMax || load.dials + load.streams >= streamsMax) return OVERLOADED;
    const limit = new AbortController();
    const giveUp = () => {
      limit.abort();
    };
    const timer = setTimeout(giveUp, dialMsMax);
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
    load.dials += 1;
    try {
      return await (own === undefined
        ? this.#dialChecked(target, use, limit.signal)
        : this.#connect([{ address: own.address, family: isIP(own.address) === 6 ? 6 : 4 }], own, use, limit.signal));
    } finally {
      load.dials -= 1;
      signal.removeEventListener('abort', giveUp);
      clearTimeout(timer);
    }
  }

  async #dialChecked({ host, port }: EgressTarget, use: EgressUse, signal: AbortSignal): Promise<Dialled> {
    const checked = use === 'self' ? SELF : await this.#checkedAddresses(host, port, use, signal);
    return 'ok' in checked ? checked : this.#connect(checked, { host, port }, use, signal);
  }

  async #connect(
    addresses: readonly CheckedAddress[],
    { host = '', port }: Partial<EgressTarget> & Pick<EgressTarget, 'port'>,
    use: EgressUse,
    signal: AbortSignal,
  ): Promise<Dialled> {
    const connection = await connectToFirst(addresses, port, signal);
    if (!connection.ok)
      return notDialled(
        connection.failure,
        sentence(use === 'self' ? `Port ${port} of the machine` : targetText(host, port), connection),
      );
    return { ok: true, stream: counted(connection.socket, this.#load[use]) };
  }

  /** Where to connect to, or why not. */
  async #checkedAddresses(
    written: string,
    port: number,
    use: Exclude<EgressUse, 'self'>,
    signal: AbortSignal,
  ): Promise<readonly CheckedAddress[] | Dialled> {
    const host = bareHost(written);
    // Said before anything repeats the text: it may hold what is no part of a sentence.
    if (isLiteral(host) && (isIP(host) === 0 || host.includes('%')))
      return this.#refused('host', 'The host is neither a name nor an address.');
    if (this.#leadsBack([host], port, use)) return loop(written, port);
    const vetted = await this.#vets[use](host, signal);
    if (!vetted.ok)
      return vetted.kind === 'refused' ? this.#refused('host', vetted.reason) : notDialled('unresolved', vetted.reason);
    const addresses = vetted.addresses.map(({ address }) => address);
    return this.#leadsBack(addresses, port, use) ? loop(written, port) : vetted.addresses;
  }

  /**
   * Users of SSH may go through the proxies of the machine on which they are logged in: each such step is one that they
   * asked for.
   */
  #leadsBack(addresses: readonly string[], port: number, use: EgressUse): boolean {
    const servers = use === 'ssh' ? [] : this.#proxies().filter((server) => server.port === port);
    return servers.length > 0 && addresses.some((address) => isLoop({ address, port }, servers, ownAddresses()));
  }

  #refused(why: keyof EgressCounts['blocked'], message: string): Dialled {
    this.#blocked[why] += 1;
    return notDialled('blocked', message);
  }
}

/** Keeps count of a stream until it is closed. */
function counted(socket: Socket, load: Load): Socket {
  load.streams += 1;
  return socket.once('close', () => {
    load.streams -= 1;
  });
}

function idle(): Load {
  return { dials: 0, streams: 0 };
}

/** Addresses of the machine, asked anew: they come and go. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map(({ address }) => address) ?? []);
}

/** Whoever has its port is somebody else. */
function notListening({ server, port }: EgressTarget): Dialled {
  const what =
    server === undefined ? `The server of the agent that port ${port} is for` : `The server ${server} of the agent`;
  return notDialled('refused', `${what} does not listen: see the health of the machine.`);
}

function loop(host: string, port: number): Dialled {
  return notDialled('loop', `${targetText(host, port)} is a proxy of this very machine.`);
}

function targetText(host: string, port: number): string {
  const bare = bareHost(host);
  return bare.includes(':') ? `[${bare}]:${port}` : `${bare}:${port}`;
}

function sentence(target: string, { failure, code }: Connecting): string {
  const sentences: Readonly<Record<Connecting['failure'], string>> = {
    refused: `${target} refuses connections: nothing listens there.`,
    unreachable: `${target} cannot be reached from the machine that dials.`,
    timed_out: `${target} did not answer in time.`,
    overloaded: 'The machine that dials has no room for more connections: try again later.',
    failed: `${target} could not be connected to (${code}).`,
  };
  return sentences[failure];
}
