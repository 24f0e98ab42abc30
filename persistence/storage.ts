/** The rows of an admin as its parts use them: what each of them asks of the database, made once. */
import { adminTexts } from './admins/admin-texts.ts';
import type { HeldHere } from '../api/forwarding/ports.ts';
import type { Log } from '../transport/net/log.ts';
import { monotonicMs } from '../transport/net/clock.ts';
import type { ClusterId, CommandId, NodeId } from '../transport/protocol/ids.ts';
import type { AdminRegistry } from './admins/admin-directory.ts';
import type { DatabaseArrival } from './connections/arrival.ts';
import type { GroupCommitter } from './committer/committer.ts';
import type { DatabaseClock } from './database-clock.ts';
import type { Database } from './connections/database.ts';
import { consoleSessionRows } from './console-sessions.ts';
import { healthCounts } from './health.ts';
import type { IncarnationWatch } from './incarnations/incarnation.ts';
import { createDatabaseInspection } from './inspection.ts';
import { StoredHandOvers } from './ownership/hand-over.ts';
import { StoredTakeovers } from './ownership/takeovers.ts';
import { Leases, LEASE_MS, ownerOf, type LiveAdmin } from './ownership/leases.ts';
import type { Listener } from './connections/listening.ts';
import type { LivePeers } from './admins/live-peers.ts';
import { createLoader } from './loader/loader.ts';
import { wantTunnel } from './admins/admin-messages.ts';
import { backlogOf } from './publishing/broker-rows.ts';
import { createEventBodies } from './publishing/event-bodies.ts';
import { BROKER_CHANNEL } from './publishing/names.ts';
import { publishingRows, type PublishingSettings } from './publishing/publishing-rows.ts';
import { StoredAdminTopology } from './reads/admin-topology.ts';
import { StoredPeerAdmins } from './reads/peer-admins.ts';
import { existingCommands, executionsOf } from './reads/briefs.ts';
import { executionsElsewhere } from './reads/changed-executions.ts';
import { createDiscovery } from './reads/discovery.ts';
import { diagnosisRows } from './reads/node-diagnoses.ts';
import { agentEndpointLookUp } from './reads/agent-endpoints.ts';
import { nodeNameLookUp } from './reads/node-names.ts';
import { createReads } from './reads/reads.ts';
import { createGroups } from './node-groups.ts';
import { StoredOwners } from './ownership/owner-look-up.ts';
import { keptOverview } from './overview.ts';
import { createRecords } from './ownership/ownerless-writes.ts';
import { selfUpdateRows, selfUpdateWaker } from './admins/self-update-notices.ts';
import { createPasswords } from './ssh/passwords.ts';
import { createSshLogins } from './ssh/login-check.ts';
import { wokenRows } from './sweeps/forgotten.ts';
import { createSweepRows, type SweepSettings, type SweepInputs } from './sweeps/sweep-rows.ts';
import { SWEEPS_TASK, taskLease, TASK_LEASE_MS } from './ownership/task-leases.ts';
import { readTotals } from './totals.ts';
import { StoredNetworks } from './vpn/embedded-vpn-rows.ts';
import { relayClustersLookUp, vpnMemberLookUp } from './vpn/key-look-ups.ts';
import { VPN_MEMBER_CHANGES, readVpns, storeGateway } from './vpn/readings.ts';
import { releaseFileRows } from './releases/files.ts';
import { releaseMetadataRows } from './releases/metadata.ts';
import { relayRows } from './vpn/relay-rows.ts';
import { StoredVpnRows, VPN_CHANGES } from './vpn/vpn-rows.ts';
import type { EncryptionKeys } from './sealing/encryption-keys.ts';
import { KeyRotation } from './sealing/rotation.ts';
import type { Keyring } from './vault.ts';
import { createWriteProbe } from './connections/write-probe.ts';

/** Events of a channel that wait are counted up to this, for whoever looks in from outside. */
const BACKLOG_COUNTED_MAX = 100_000;

/** The settings by which rows are read, made and kept, under their names. */
export interface StorageSettings extends SweepSettings, PublishingSettings {
  readonly ADMIN_NAME: string;
  readonly ADMIN_CLUSTER_NAME: string;
  readonly EDGE_VPN_DEFAULT_DOMAIN: string;
  readonly CLUSTER_AUTO_GENERATED_V4_RANGES: readonly string[];
  readonly CLUSTER_V4_SUBNET_PREFIX: number;
}

/** What was opened. */
export interface OpenedStorage {
  readonly settings: StorageSettings;
  readonly adminId: string;
  readonly database: Database;
  readonly listener: Listener;
  readonly vault: Keyring;
  readonly keys: EncryptionKeys;
  readonly incarnation: IncarnationWatch;
  readonly clock: DatabaseClock;
  readonly registry: AdminRegistry;
  readonly committer: GroupCommitter;
  readonly peers: LivePeers;
  readonly arrival: DatabaseArrival;
  readonly log: Log;
}

/** The open database. Its ends are with whoever opened it. */
export class Storage {
  /** Of this admin, over restarts. */
  readonly adminId: string;
  readonly database: Database;
  /** The one connection on which this admin hears what the database notifies. */
  readonly listener: Listener;
  readonly vault: Keyring;
  readonly clock: DatabaseClock;
  /** Whether there are other admins. */
  readonly peers: LivePeers;
  readonly #opened: OpenedStorage;
  readonly #passwords = createPasswords();
  readonly #ssh;
  readonly #reads;
  readonly #leases;
  readonly #relayClusters;
  readonly #rotation;
  readonly #taker;

  constructor(opened: OpenedStorage) {
    const { settings, adminId, database, listener, vault, clock, peers, log } = opened;
    this.#opened = opened;
    this.adminId = adminId;
    this.database = database;
    this.listener = listener;
    this.peers = peers;
    this.vault = vault;
    this.clock = clock;
    this.#ssh = createSshLogins({ pool: database.pool, passwords: this.#passwords, log });
    this.#reads = createReads({
      ...database,
      vault,
      domain: settings.EDGE_VPN_DEFAULT_DOMAIN,
      ranges: { v4Ranges: settings.CLUSTER_AUTO_GENERATED_V4_RANGES, v4Prefix: settings.CLUSTER_V4_SUBNET_PREFIX },
    });
    this.#taker = { adminId, instanceId: opened.registry.instanceId };
    this.#leases = new Leases(database.writes, this.#taker.instanceId);
    this.#leases.onSurvey((admins) => peers.surveyed(admins));
    this.#relayClusters = relayClustersLookUp(database.pool);
    this.#rotation = new KeyRotation({ pool: database.pool, vault, keys: opened.keys, log });
  }

  /** Resolves when the database was set back, restored or promoted beneath this admin: it is to be started anew. */
  get setBack(): Promise<void> {
    return this.#opened.incarnation.isOver;
  }

  /** Resolves when another process has its name, or secrets are sealed under a key that it has not: it must end. */
  get takenOver(): Promise<Error> {
    return Promise.race([this.#opened.registry.takenOver, this.#opened.keys.lost]);
  }

  /** Does another step of the start, which must be one that can be done again, once the database lets it. */
  step<Result>(what: string, step: () => Promise<Result>): Promise<Result> {
    return this.#opened.arrival.done(what, step);
  }

  /** Resolves when every step of an actor is stored. */
  drained(): Promise<void> {
    return this.#opened.committer.drained();
  }

  /** For metrics, without the database. */
  readings() {
    const { committer, database, listener } = this.#opened;
    const { durations, sizes, refused, failed } = committer.counters;
    return {
      commits: { durations, sizes, waiting: committer.waiting(), refused, failed },
      database: database.connections(),
      sshLogins: { ...this.#ssh.counters },
      listener: listener.readings(),
      encryption: this.#rotation.readings(),
    };
  }

  /** What actors are made from, where their steps go, and under which leases. */
  forActors() {
    const { adminId, committer, incarnation, registry, database, peers, log } = this.#opened;
    return {
      adminId,
      committer,
      loader: createLoader(database.pool),
      woken: wokenRows(database.pool, adminId),
      leases: this.#leases,
      handOvers: new StoredHandOvers(database.writes),
      takeovers: new StoredTakeovers(database.writes, this.#taker.instanceId),
      leaseMs: LEASE_MS,
      checkIn: async () => ((await incarnation.compared()) ? registry.checkIn() : null),
      isSetBack: () => incarnation.hasEnded(),
      ssh: this.#ssh,
      clusterVpnRows: { read: (clusters: readonly ClusterId[]) => readVpns(database.pool, clusters) },
      wakeOwners: selfUpdateWaker(database.pool, { adminId, hasPeers: () => peers.areThere() }, log),
    };
  }

  forAdminLinks() {
    const { adminId, database, listener, registry } = this.#opened;
    return {
      instanceId: registry.instanceId,
      texts: adminTexts(database.pool, listener, adminId),
      onAdmins: (listener: (admins: readonly LiveAdmin[]) => void) => this.#leases.onSurvey(listener),
    };
  }

  /** What sessions and tunnels ask before they let somebody in. */
  forAgents() {
    const { pool } = this.database;
    return {
      nodeByToken: (hash: Uint8Array) => this.#reads.nodeByToken(hash),
      deletedByToken: (hash: Uint8Array) => this.#reads.deletedByToken(hash),
      ownerOf: (cluster: ClusterId) => ownerOf(pool, cluster), // however many agents ask, no renewal waits for them
      endpointOf: agentEndpointLookUp(pool),
      nodeByName: nodeNameLookUp(pool),
      diagnoses: diagnosisRows(pool),
      /** False also while the database is away: nobody can be asked. */
      askOwner: (node: NodeId, token: string, url: string) =>
        wantTunnel(pool, this.adminId, node, token, url).catch(() => false),
    };
  }

  /** What the VPN is, as rows. */
  forVpn() {
    const { adminId, database, listener } = this.#opened;
    const { pool } = database;
    return {
      hosts: new StoredVpnRows(pool, adminId, database.writes, this.#taker.instanceId),
      embedded: new StoredNetworks(database),
      leaseMs: TASK_LEASE_MS,
      memberOf: vpnMemberLookUp(pool, monotonicMs),
      clustersOf: this.#relayClusters,
      relays: relayRows(pool, this.#opened.settings.ADMIN_NAME),
      storeGateway: (...said: Tail<Tail<Parameters<typeof storeGateway>>>) => storeGateway(pool, adminId, ...said),
      /** Hears what the rows tell of VPNs; `ofMembers`: of their members too. */
      listen: (ofMembers: boolean, run: () => void) =>
        listener.hear(ofMembers ? [VPN_CHANGES, VPN_MEMBER_CHANGES] : [VPN_CHANGES], run),
      /** Hears which cluster's members changed; null: any of them may have. */
      onMembersChanged: (run: (cluster: ClusterId | null) => void) =>
        listener.hear([VPN_MEMBER_CHANGES], (_channel, payload) => run(payload as ClusterId | null)),
    };
  }

  /** By which events leave. */
  forPublishing() {
    return publishingRows(this.#opened.settings, { ...this.#opened, ...this.#taker });
  }

  /** By whom self-update requests are moved. */
  forSelfUpdates() {
    return selfUpdateRows({ ...this.#opened, ...this.#taker });
  }

  /** The envelopes that webhooks are sent. */
  eventBodies() {
    return createEventBodies(this.database.pool, this.#opened.settings.CORE_NAME);
  }

  /** Releases for agents. */
  forReleases() {
    return { ...releaseFileRows(this.database.pool), ...releaseMetadataRows(this.database.pool) };
  }

  /** What surfaces answer from. */
  forSurfaces() {
    const { settings, adminId, registry, vault, database } = this.#opened;
    const { pool } = database;
    const probe = createWriteProbe(pool, monotonicMs);
    return {
      operations: {
        reads: this.#reads,
        records: createRecords(pool),
        groups: createGroups(pool, vault),
        vault,
        passwords: this.#passwords,
        admin: registry,
        adminTopology: new StoredAdminTopology(pool, {
          adminClusterName: settings.ADMIN_CLUSTER_NAME,
          domain: settings.EDGE_VPN_DEFAULT_DOMAIN,
        }),
        peerAdmins: new StoredPeerAdmins(pool),
        overview: keptOverview(pool),
        discovery: createDiscovery(pool),
      },
      executionsOf: (command: Parameters<typeof executionsOf>[1], limit: number) => executionsOf(pool, command, limit),
      existingCommands: (commands: readonly CommandId[]) => existingCommands(pool, commands),
      health: { ...healthCounts(pool, adminId), write: () => probe.write() },
      brokerBacklog: (max: number) => backlogOf(pool, BROKER_CHANNEL, max),
      totals: (hasBroker: boolean) => readTotals(pool, hasBroker, adminId),
      tellProblems: (problems: Parameters<AdminRegistry['tellProblems']>[0]) => registry.tellProblems(problems),
      inspection: createDatabaseInspection(pool, BACKLOG_COUNTED_MAX),
      relayClusters: this.#relayClusters,
      consoleSessions: consoleSessionRows(pool),
      owners: (here: HeldHere) => new StoredOwners({ pool, adminId, clock: this.clock, here }),
    };
  }

  /** What time does to rows, and the lease under which whole tables are swept. `inputs`: what is in no row. */
  forSweeps(inputs: SweepInputs) {
    const { settings, adminId, database, peers, clock, keys } = this.#opened;
    const told = { adminId, hasPeers: () => peers.areThere() };
    const sweeps = createSweepRows(database.pool, told, settings, inputs, () => clock.ownMs());
    const lease = taskLease(database.writes, this.#taker, SWEEPS_TASK, TASK_LEASE_MS);
    const sealing = { compareKeys: () => keys.compare(), sealAnew: () => this.#rotation.step() };
    return { sweeps: { ...sweeps, ...sealing }, isClockRight: () => !clock.isSkewed(), lease, leaseMs: TASK_LEASE_MS };
  }

  /** What the rows say of executions of other admins. */
  forElsewhere() {
    return executionsElsewhere(this.database.pool);
  }
}

type Tail<T extends readonly unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;
