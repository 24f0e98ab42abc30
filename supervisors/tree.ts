/** The tree: one system, a family a kind, the directory that finds everyone, and the loop that owns clusters. */
import { createAsks } from './runtime/asks.ts';
import type { Bus } from '../actors/bus.ts';
import type { Clock } from '../actors/ports.ts';
import type { Log } from '../transport/net/log.ts';
import type { Tracer } from '../actors/tracer.ts';
import {
  countEnded,
  countForCommands,
  noneEnded,
  noTriggers,
  observeTriggers,
  type EndedExecutions,
} from './execution-notices.ts';
import type { Histogram } from '../transport/net/histogram.ts';
import { domainPerformers } from './effects.ts';
import { Directory } from './runtime/directory.ts';
import { kindTable } from './runtime/kinds.ts';
import type { BehaviourSettings, KindTable } from './runtime/kinds.ts';
import { VpnWatcher } from './vpn/watcher.ts';
import { createHeldLeases } from './ownership/held.ts';
import type { HeldLeases } from './ownership/held.ts';
import type { HandOverPort, LeasePort, TakeoverPort } from './ownership/lease-port.ts';
import { Ownership } from './ownership/loop.ts';
import type { Ask } from '../actors/messages.ts';
import type {
  Committer,
  GatewayLink,
  Loader,
  ClusterVpnRows,
  SessionLink,
  SshVerifier,
  WebhookSender,
  WebhookSupply,
} from './ports.ts';

/** All that actors reach, implemented by persistence and transport. */
export interface TreePorts {
  readonly adminId: string;
  readonly settings: BehaviourSettings;
  readonly committer: Committer;
  readonly loader: Loader;
  readonly leases: LeasePort;
  readonly handOvers: HandOverPort;
  readonly takeovers: TakeoverPort;
  /** An admin gets no cluster by balancing before it has been there for so long, in ms. */
  readonly settledMs: number;
  /** What the database grants, in ms. */
  readonly leaseMs: number;
  /** Says that this admin is there. */
  readonly checkIn: () => Promise<unknown>;
  /** Whether this admin ends to start anew, with what it owns. */
  readonly isSetBack: () => boolean;
  readonly sessions: SessionLink;
  readonly webhookSender: WebhookSender;
  readonly webhookSupply: WebhookSupply;
  readonly ssh: SshVerifier;
  readonly tracer: Pick<Tracer, 'ended'>;
  readonly clusterVpnRows: ClusterVpnRows;
  readonly gateway: GatewayLink;
  /** Owners look which of their nodes have their turn in this self-update request. */
  readonly wakeSelfUpdate: (request: string) => void;
  /** What nodes of this admin were told may have found nobody: it is looked for in the rows. Returns at once. */
  readonly missed: () => void;
  readonly bus: Bus;
  /** What this admin and the others commit. */
  readonly news: Pick<Bus, 'subscribe'>;
  readonly clock: Clock;
  readonly log: Log;
  /** By which leases run out: runs on while this machine is suspended. */
  readonly leaseClockMs: () => number;
  /** Lets a test put a fault into a behaviour. */
  readonly kinds?: (table: KindTable) => KindTable;
}

export interface Tree {
  readonly directory: Directory;
  readonly ask: Ask;
  readonly held: HeldLeases;
  readonly ownership: Ownership;
  /** Keeps the VPNs of owned clusters; to be started and stopped with the rest. */
  readonly vpnWatcher: VpnWatcher;
  readonly ended: Readonly<EndedExecutions>;
  /** From a node's turn in a self-update request until its updater took the signal, in s. */
  readonly updateTriggers: Histogram;
  /** Who waits for an answer now. */
  waiting(): number;
}

/** A tree with nobody in it. `ownership.start()` brings it to life. */
export function createTree(ports: TreePorts): Tree {
  const { clock, log, bus, news, loader, committer, sessions, webhookSender, tracer } = ports;
  const held = createHeldLeases(ports.leaseMs, ports.leaseClockMs);
  const table = kindTable(loader, ports.settings);
  const vpnWatcher = new VpnWatcher({
    rows: ports.clusterVpnRows,
    held,
    clock,
    log,
    tell: (id, message) => void directory.tell({ to: { kind: 'cluster', id }, message }),
  });
  const asks = createAsks(clock, (addressed) => void directory.tell(addressed));
  const directory: Directory = new Directory({
    kinds: ports.kinds?.(table) ?? table,
    held,
    asks,
    clock,
    committer,
    sessions,
    webhookSender,
    domains: domainPerformers({ ...ports, vpns: vpnWatcher }),
    tracer,
    log,
    orphans: {
      leaseTemporarily: (cluster) => ownership.leaseTemporarily(cluster),
      refusal: (cluster) => ownership.orphaned(cluster),
    },
  });
  const ownership: Ownership = new Ownership({ ...ports, held, directory });
  bus.subscribe((notices) => {
    for (const notice of notices)
      if (notice.type === 'cluster-created') ownership.created(notice.cluster, notice.epoch);
  });
  news.subscribe(countForCommands(directory));
  const ended = noneEnded();
  bus.subscribe(countEnded(ended));
  const updateTriggers = noTriggers();
  bus.subscribe(observeTriggers(updateTriggers));
  return { directory, ask: asks.ask, held, ownership, vpnWatcher, ended, updateTriggers, waiting: asks.waiting };
}
