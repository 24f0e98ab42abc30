/** The admin, put together. The only file that sees every folder; it reads as the boot order. */
import { createBus } from './actors/bus.ts';
import type { Log } from './actors/ports.ts';
import type { AgentSettings } from './transport/protocol/frames.ts';
import type { ClusterId, NodeId } from './transport/protocol/ids.ts';
import { RELAY_MAP_PATH, SESSION_PATH, TUNNEL_PATH } from './transport/protocol/version.ts';
import { adminCluster } from './api/health/admin-cluster.ts';
import { sharedChecks } from './api/health/checks.ts';
import type { HealthPorts } from './api/health/ports.ts';
import { subsystems } from './api/health/subsystems.ts';
import { mountDebug } from './api/debug/routes.ts';
import { mountMcp } from './api/mcp/mount.ts';
import { createIds } from './api/creation-ids.ts';
import { createFeeds } from './api/feeds/feeds.ts';
import { createAdminMetrics } from './api/metrics/admin-metrics.ts';
import { mountRelays } from './api/rest/relays.ts';
import { createApi, type Mount } from './api/rest/server.ts';
import { mountTrpc } from './api/trpc/mount.ts';
import { gateSettings, ownNames, type AdminConfig } from './settings/admin.ts';
import { metricSources } from './metric-sources.ts';
import packageFile from './package.json' with { type: 'json' };
import { createAdminRegistry } from './persistence/admin-directory.ts';
import { awaitDatabase } from './persistence/arrival.ts';
import { createCommitter, type GroupCommitter } from './persistence/committer/committer.ts';
import { startDatabaseClock } from './persistence/database-clock.ts';
import { openDatabase, type Database } from './persistence/database.ts';
import { encryptionKeyIn } from './persistence/embedded/encryption-key.ts';
import { startEmbeddedPostgres } from './persistence/embedded/launcher.ts';
import { createDatabaseInspection } from './persistence/inspection.ts';
import { healthCounts } from './persistence/health.ts';
import { watchIncarnation } from './persistence/incarnation.ts';
import { createWriteProbe } from './persistence/write-probe.ts';
import { createLeases, LEASE_MS } from './persistence/leases.ts';
import { createLoader } from './persistence/loader/loader.ts';
import { meshMemberLookUp } from './persistence/vpn/member-look-up.ts';
import { createEmbeddedVpnRows } from './persistence/vpn/embedded-vpn-rows.ts';
import { MESH_CHANGES, readMeshes, storeGateway } from './persistence/vpn/readings.ts';
import { createVpnRows, VPN_CHANGES, VPN_LEASE_MS } from './persistence/vpn/vpn-rows.ts';
import { relayClustersLookUp } from './persistence/vpn/relay-admission.ts';
import { hearPeers } from './persistence/peer-listener.ts';
import { tellPeers, wantTunnel } from './persistence/peers.ts';
import { announcePresence } from './persistence/peer-presence.ts';
import { storePresence } from './persistence/presence.ts';
import { advanceBroker, backlogOf, nextForBroker } from './persistence/publishing/broker-rows.ts';
import { CHANNEL_LEASE_MS, channelLeases } from './persistence/publishing/channels.ts';
import { createEventBodies } from './persistence/publishing/event-bodies.ts';
import { BROKER_CHANNEL, EVENTS_STORED, WEBHOOK_CHANGES, WEBHOOKS_CHANNEL } from './persistence/publishing/names.ts';
import { routeEvents, webhooksWithDeliveries } from './persistence/publishing/routing.ts';
import { createAdminTopology } from './persistence/reads/admin-topology.ts';
import { executionsOf } from './persistence/reads/briefs.ts';
import { changedExecutions } from './persistence/reads/changed-executions.ts';
import { createDiscovery } from './persistence/reads/discovery.ts';
import { diagnosisRows } from './persistence/reads/node-diagnoses.ts';
import { nodeDoorLookUp } from './persistence/reads/node-doors.ts';
import { nodeNameLookUp } from './persistence/reads/node-names.ts';
import { createReads } from './persistence/reads/reads.ts';
import { createRecords } from './persistence/records.ts';
import { checkEncryptionKey } from './persistence/secret-check.ts';
import { createPasswords } from './persistence/ssh/passwords.ts';
import { createSshLogins } from './persistence/ssh/verifier.ts';
import { findForgotten } from './persistence/sweeps/forgotten.ts';
import { markOwnerless } from './persistence/sweeps/ownerless.ts';
import { AGENTS_BACK_MS_MAX, findGone } from './persistence/sweeps/random-nodes.ts';
import { createSweeps, SWEEP_ROWS_MAX } from './persistence/sweeps/sweeps.ts';
import { readTotals } from './persistence/totals.ts';
import { createVault } from './persistence/vault.ts';
import { createBrokerChannel, type BrokerChannel } from './supervisors/publishing/broker-channel.ts';
import type { Channel } from './supervisors/publishing/channel.ts';
import { createWebhooksChannel } from './supervisors/publishing/webhooks-channel.ts';
import { watchElsewhere } from './supervisors/elsewhere.ts';
import { createInspection } from './supervisors/runtime/inspection.ts';
import { GONE_NODES_MAX, startSweeper } from './supervisors/sweeper.ts';
import { createTree, type Tree } from './supervisors/tree.ts';
import { createUnwind, type Unwind } from './supervisors/unwind.ts';
import { startCoordination } from './supervisors/vpn/coordination.ts';
import { openBroker } from './transport/events/brokers/adapters.ts';
import { createLeaseClock, monotonicMs, systemClock } from './transport/net/clock.ts';
import { createDiagnoses } from './transport/diagnoses/diagnoses.ts';
import { createGuard } from './transport/net/guard/guard.ts';
import { createAddressLimiter } from './transport/net/window-limiter.ts';
import { createAdmission } from './transport/proxies/admission.ts';
import { portsOf, startProxies, type Proxies } from './transport/proxies/proxies.ts';
import { createAgentRequests } from './transport/tunnels/agent-requests.ts';
import { createReach, type Reach } from './transport/tunnels/reach.ts';
import { createTunnelGate } from './transport/tunnels/gate.ts';
import { createTunnels } from './transport/tunnels/tunnels.ts';
import { createEmbeddedRelay, type EmbeddedRelay } from './transport/vpn/relay/embedded.ts';
import { createScrapeCounters } from './transport/metrics/counters.ts';
import { createScrapes } from './transport/metrics/scrapes.ts';
import { createSessionGate } from './transport/sessions/gate.ts';
import { createSessions, type Sessions } from './transport/sessions/sessions.ts';
import { tracedRequests } from './transport/tracing/traced-requests.ts';
import { createTracing } from './transport/tracing/tracing.ts';
import { startMeshObserver } from './transport/vpn/observer/mesh-observer.ts';
import { openGateway } from './transport/vpn/gateway/open-gateway.ts';
import { openVpn } from './transport/vpn/open-vpn.ts';
import { createWebhookPosts } from './transport/events/webhooks/posts.ts';

/**
 * Agents ask for their settings this often, in ms. Source: docs/architecture.md, Sessions: at least every 10 minutes.
 */
const SETTINGS_REFRESH_MS = 300_000;

/**
 * So many times WEBHOOK_CONCURRENCY deliveries are handed over, so that a connection has its next request while the
 * last one is stored.
 */
const HANDED_OVER_FACTOR = 6;

/**
 * Addresses whose wrong passwords at the proxies, or wrong tokens of sessions, are remembered at once, and for how
 * long, in ms.
 */
const FAILURES_ADDRESSES_MAX = 10_000;
const FAILURES_WINDOW_MS = 60_000;

/** Events that wait for the broker are counted up to this. */
const BACKLOG_COUNTED_MAX = 100_000;

/** A running admin. */
export interface RunningAdmin {
  /** Where it answers. */
  readonly url: string;
  readonly tree: Tree;
  /** Null: they are switched off. */
  readonly proxies: Proxies | null;
  /** Resolves when the database was set back, restored or promoted beneath it: it is to be stopped and started anew. */
  readonly setBack: Promise<void>;
  /** Stops in order: agents are told to come back, requests in flight end, leases are released. Bounded. */
  stop(): Promise<void>;
}

/** Starts an admin. Rejects with an error whose message is for the operator, and leaves nothing running then. */
export async function startAdmin(config: AdminConfig, log: Log): Promise<RunningAdmin> {
  const unwind = createUnwind(log);
  try {
    return await start(config, log, unwind);
  } catch (error) {
    await unwind.run();
    throw error;
  }
}

async function start(config: AdminConfig, log: Log, unwind: Unwind): Promise<RunningAdmin> {
  const leaseClockMs = createLeaseClock();

  const tracing = await createTracing({
    variables: config.tracing,
    version: packageFile.version,
    instance: config.ADMIN_NAME,
    log,
  });
  unwind.add('traces', () => tracing.close());
  const { tracer } = tracing;

  // Rows: a database, up to date, whose secrets this admin can open.
  const postgres =
    config.DATABASE_URL === undefined ? await startEmbeddedPostgres({ dataDir: config.DATA_DIR, log }) : null;
  if (postgres !== null) unwind.add('PostgreSQL', () => postgres.stop());
  const vault = createVault(config.ENCRYPTION_KEY ?? (await encryptionKeyIn(config.DATA_DIR)));
  const database = await openDatabase({
    connection: postgres?.connection ?? { url: config.DATABASE_URL ?? '' },
    poolMax: config.DATABASE_POOL_MAX,
    log,
  });
  unwind.add('database connections', () => database.close());
  const { orm, pool } = database;
  await awaitDatabase(pool, config.DATABASE_WAIT_MS, log);
  await database.migrate();
  const incarnation = await watchIncarnation(pool, config.ADMIN_NAME);
  const clock = await startDatabaseClock(pool, { clock: systemClock, monotonicMs, log });
  unwind.add('the clock', () => clock.stop());
  await checkEncryptionKey(orm, vault);
  const registry = createAdminRegistry(
    orm,
    {
      name: config.ADMIN_NAME,
      url: config.ADMIN_OWN_URL ?? config.ADMIN_URLS[0] ?? '',
      adminClusterName: config.ADMIN_CLUSTER_NAME,
      version: packageFile.version,
      maxWireguardPeers: config.ADMIN_MAX_WIREGUARD_PEERS,
    },
    clock,
  );
  await registry.checkGroup();
  const adminId = await registry.checkIn();
  unwind.add('registration', () => registry.checkOut());

  const bus = createBus(log);
  const committer = createCommitter({ database, vault, adminId, log, committed: (notices) => bus.publish(notices) });
  const loader = createLoader(pool);
  const leases = {
    ...createLeases(database.writes),
    checkIn: () => incarnation.compared().then(() => registry.checkIn()),
  };
  const reads = createReads({
    orm,
    pool,
    vault,
    domain: config.EDGE_VPN_DEFAULT_DOMAIN,
    ranges: { v4Ranges: config.CLUSTER_AUTO_GENERATED_V4_RANGES, v4Prefix: config.CLUSTER_V4_SUBNET_PREFIX },
  });
  const vpnRows = createVpnRows(pool, adminId);
  const vpn = openVpn(config, { hosts: vpnRows, embedded: createEmbeddedVpnRows(database) });
  unwind.add('the manager of networks', () => vpn.close());

  // Actors and the sessions that feed them. The port that was got decides the URLs when none are set.
  const urls: string[] = [...config.ADMIN_URLS];
  const agentSettings: AgentSettings = {
    admin_urls: urls,
    derp_map_urls: [...config.CORE_DERP_MAP_URLS],
    refresh_ms: SETTINGS_REFRESH_MS,
    ssh_recording: {
      mode: config.SSH_RECORDING,
      bytes_max: config.SSH_RECORDING_MAX_BYTES,
      ms_max: config.SSH_RECORDING_MAX_MS,
    },
    mesh: { mode: 'embedded', observers: [] },
  };
  const sessions = createSessions({
    clock,
    log,
    settings: agentSettings,
    tell: (addressed) => tree.directory.tell(addressed),
    revoked: (node) => nodeRevoked(node),
  });
  const tunnels = createTunnels({
    clock,
    log,
    monotonicMs,
    send: (node, frame) => sessions.sendToNode(node, frame),
    askOwner: (node, token) =>
      // the database is away: nobody can be asked
      wantTunnel(pool, adminId, node, token, config.ADMIN_OWN_URL ?? urls[0] ?? '').catch(() => false),
    meshUrl: (node) => gateway.urlFor(node),
  });
  const gateway = openGateway(
    adminId,
    {
      isEnabled: config.ADMIN_GATEWAY_ENABLED && vpn.kind === 'embedded',
      port: config.ADMIN_WIREGUARD_PORT,
      host: config.ADMIN_WIREGUARD_HOST ?? null,
      peersMax: config.ADMIN_MAX_WIREGUARD_PEERS,
    },
    {
      clock,
      log,
      monotonicMs,
      relayMapUrls: () => agentSettings.derp_map_urls,
      adminUrls: () => urls,
      upgrade: createTunnelGate(tunnels, 'mesh'),
      send: (node, frame) => void sessions.sendToNode(node, frame),
      epochOf: (cluster) => (tree.held.holds(cluster) ? tree.held.leaseOf(cluster).epoch : null),
      isFresh: (cluster) => tree.held.isFresh(cluster),
      store: (...said) => storeGateway(pool, adminId, ...said),
    },
  );
  bus.subscribe((notices) => {
    for (const notice of notices)
      if (notice.type === 'node-removed' || notice.type === 'node-revoked') nodeRevoked(notice.node);
  });
  const presence = announcePresence(pool, adminId, { clock: systemClock, monotonicMs, log });
  unwind.add('words to other admins', () => presence.stop());
  const peers = hearPeers(database, adminId, {
    sendToNode: (node, frame) => sessions.sendToNode(node, frame),
    tunnels,
    heard: (id) => presence.heard(id),
    ended: (id, executions) =>
      tree.directory.tellResident({ to: { kind: 'node', id }, message: { type: 'executions-expired', executions } }),
    clock: systemClock,
    log,
  });
  unwind.add('words of other admins', () => peers.stop());

  /** Here, and at whichever admin has a tunnel to it (E5). */
  function nodeRevoked(node: NodeId): void {
    tunnels.end(node);
    tellPeers(pool, { type: 'node-revoked', from: adminId, node }).catch((error: unknown) =>
      log.warn({ error, node }, 'the other admins were not told that a node was revoked'),
    );
  }

  const requests = tracedRequests(createAgentRequests({ tunnels, doorOf: nodeDoorLookUp(pool) }), tracer);
  const guard = createGuard({ allowPrivate: config.WEBHOOK_ALLOW_PRIVATE_IPS });
  const posts = createWebhookPosts({
    vault,
    connect: guard.connector(),
    bodyOf: createEventBodies(pool, config.CORE_NAME),
    mayDeliver: () => publishing.webhooks.holds(),
    timeoutMs: config.WEBHOOK_TIMEOUT_MS,
    connectionsMax: config.WEBHOOK_CONCURRENCY,
    version: packageFile.version,
    monotonicMs,
    nowMs: () => clock.nowMs(),
    log,
  });
  const passwords = createPasswords();
  const ssh = createSshLogins({ pool, passwords, log });
  const tree = createTree({
    adminId,
    committer,
    loader,
    leases,
    leaseMs: LEASE_MS,
    sessions,
    posts,
    ssh,
    tracer,
    meshRows: { read: (clusters) => readMeshes(pool, clusters) },
    gateway,
    bus,
    clock,
    log,
    leaseClockMs,
    settings: {
      unreachableAfterMs: config.NODE_UNREACHABLE_AFTER_MS,
      dampingMs: config.NODE_STATUS_DAMPING_MS,
      vpnDomain: config.EDGE_VPN_DEFAULT_DOMAIN,
      agent: agentSettings,
      concurrency: config.WEBHOOK_CONCURRENCY * HANDED_OVER_FACTOR,
      retryBaseMs: config.WEBHOOK_RETRY_BASE_MS,
    },
  });
  const observer = await startMeshObserver(
    { ...config, ADMIN_OBSERVER_ENABLED: config.ADMIN_OBSERVER_ENABLED && vpn.kind === 'embedded' },
    {
      memberOf: meshMemberLookUp(pool, monotonicMs),
      owns: (cluster) => tree.held.holds(cluster),
      tell: (addressed) => void tree.directory.tell(addressed),
      clock,
      monotonicMs,
      log,
    },
  );
  agentSettings.mesh =
    vpn.kind === 'netmaker' ? { mode: 'netmaker' } : { mode: 'embedded', observers: [...observer.observers] };
  unwind.add('the observer', () => observer.close());
  const publishing = createPublishing(config, database, committer, adminId, tree, leaseClockMs, log);
  unwind.add('leases', () => tree.ownership.stop());
  unwind.add('the gateway', () => gateway.close());
  unwind.add('commits', () => committer.drained());

  // Surfaces.
  const relayed = relayClustersLookUp(pool);
  const relay = createEmbeddedRelay(config, { clustersOf: relayed, nowMs: () => clock.nowMs(), log });
  let proxies: Proxies | null = null;
  const reach = createReach({ tunnels, nodeByName: nodeNameLookUp(pool), domain: config.EDGE_VPN_DEFAULT_DOMAIN });
  const scrapes = createScrapeCounters();
  const adminMetrics = createAdminMetrics(
    metricSources({
      version: packageFile.version,
      name: config.ADMIN_NAME,
      sessions,
      tree,
      families: createInspection(tree.directory).families,
      committer,
      database,
      totals: () => readTotals(pool, publishing.broker !== null),
      tunnels,
      gateway,
      observer,
      relay,
      proxies: () => proxies,
      reach: reach.counters,
      ssh,
      posts,
      broker: publishing.broker,
      scrapes,
      traces: tracing.counters,
    }),
  );
  const feeds = createFeeds({
    bus,
    reads: { ...reads, executionsOf: (command, limit) => executionsOf(pool, command, limit) },
    tails: sessions.tails,
    clock,
    log,
    coreName: config.CORE_NAME,
  });
  const { broker } = publishing;
  const probe = createWriteProbe(pool, monotonicMs);
  const health: HealthPorts = {
    rows: { ...healthCounts(pool, adminId), write: () => probe.write() },
    peers: presence,
    clock,
    leasesQuietMs: () => tree.ownership.quietMs(),
    isDegraded: () => tree.ownership.isDegraded(),
    vpnManager: vpn,
    vpnClient: gateway,
    proxies: config.ADMIN_PROXY_ENABLED
      ? () => ({ http: proxies?.http.isListening() === true, socks5: proxies?.socks5.isListening() === true })
      : null,
    broker:
      broker === null
        ? null
        : { isReached: () => broker.problem() === null, backlog: (max) => backlogOf(pool, BROKER_CHANNEL, max) },
  };
  const api = createApi({
    log,
    tracer,
    ports: {
      ask: tree.ask,
      reads,
      records: createRecords(pool),
      vault,
      passwords,
      admin: registry,
      adminTopology: createAdminTopology(pool, {
        adminClusterName: config.ADMIN_CLUSTER_NAME,
        domain: config.EDGE_VPN_DEFAULT_DOMAIN,
      }),
      nodeMetrics: createScrapes({
        requests,
        msMax: config.METRICS_SCRAPE_TIMEOUT_MS,
        scraped: (...one) => scrapes.scraped(...one),
      }),
      discovery: createDiscovery(pool),
      adminMetrics,
      clock,
      newId: createIds(() => clock.nowMs()),
      nodeDiagnoses: createDiagnoses({
        requests,
        tunnels,
        hasSession: (node) => sessions.has(node),
        rows: diagnosisRows(pool),
        adminId,
        version: packageFile.version,
        clock,
        log,
      }),
      checkHealth: sharedChecks(subsystems(health)),
      checkClusterHealth: sharedChecks(adminCluster(health)),
      urlGuard: {
        problem: async (url) => {
          const verdict = await guard.check(url);
          return verdict.ok ? null : verdict.reason;
        },
      },
      deliversWebhooks: () => publishing.webhooks.holds(),
      isDegraded: () => tree.ownership.isDegraded(),
      orphans: () => tree.ownership.orphans(),
      settings: {
        adminUrls: urls,
        metricsBaseUrl: config.METRICS_BASE_URL ?? null,
        vpnDomain: config.EDGE_VPN_DEFAULT_DOMAIN,
        coreName: config.CORE_NAME,
        defaultClusterName: config.DEFAULT_CLUSTER_NAME ?? null,
        publicEnrollmentKeyEnabled: config.PUBLIC_ENROLLMENT_KEY_ENABLED,
      },
    },
    settings: {
      bodyBytesMax: config.MAX_BODY_BYTES,
      recordings: { bytesMax: config.SSH_RECORDING_MAX_BYTES },
      docsEnabled: config.API_DOCS_ENABLED,
      proxyPorts: () => portsOf(proxies),
      version: packageFile.version,
      gate: gateSettings(config),
      ownNames: ownNames(config),
    },
    mounts: [
      mountTrpc(feeds, clock),
      mountRelays({ map: () => relay.derpMap(), clustersOf: relayed, clock }),
      mountMcp({
        offersPublicTools: config.PUBLIC_ENROLLMENT_KEY_ENABLED && config.DEFAULT_CLUSTER_NAME !== undefined,
      }),
      ...debugMount(config, { tree, sessions, pool }),
    ],
  });
  api.onUpgrade(
    SESSION_PATH,
    createSessionGate({
      monotonicMs,
      sessions,
      log,
      wrongTokens: createAddressLimiter(
        {
          perWindowMax: config.AUTH_FAILURES_PER_MINUTE_MAX,
          windowMs: FAILURES_WINDOW_MS,
          keysMax: FAILURES_ADDRESSES_MAX,
        },
        clock,
      ),
      nodeByToken: (hash) => reads.nodeByToken(hash),
      deletedByToken: (hash) => reads.deletedByToken(hash),
      owns: (cluster) => tree.held.holds(cluster) && !tree.ownership.isBorrowed(cluster),
      ownerUrl: async (cluster) =>
        tree.ownership.isBorrowed(cluster) ? null : ((await leases.ownerOf(cluster))?.url ?? null),
    }),
  );
  api.onUpgrade(TUNNEL_PATH, createTunnelGate(tunnels, 'url'));
  unwind.add('the API', () => api.close());
  unwind.add('sessions', () => sessions.close());
  unwind.add('tunnels', () => tunnels.close());

  const listening = await api.listen(config.ADMIN_API_HOST, config.ADMIN_API_PORT);
  const url = listening.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//127.0.0.1:');
  if (urls.length === 0) urls.push(url);

  proxies = config.ADMIN_PROXY_ENABLED ? await listenForClients(config, reach, log) : null;
  if (proxies !== null) unwind.add('the proxies', () => proxies.close());

  unwind.add('the relay', () => relay.close());
  if ((await relay.open(config.ADMIN_OWN_URL ?? urls[0] ?? url)) && agentSettings.derp_map_urls.length === 0)
    agentSettings.derp_map_urls.push(`${config.ADMIN_OWN_URL ?? urls[0] ?? url}${RELAY_MAP_PATH}`);

  // Life.
  await tree.ownership.start();
  unwind.add(
    'coordination of networks',
    startCoordination({
      manager: vpn,
      rows: vpnRows,
      leaseMs: VPN_LEASE_MS,
      clock,
      monotonicMs,
      leaseClockMs,
      random: Math.random,
      log,
      listen: () => database.listen(vpn.kind === 'netmaker' ? [VPN_CHANGES, MESH_CHANGES] : [VPN_CHANGES], clock),
      sessions: { has: (node) => sessions.has(node), send: (node, frame) => sessions.sendToNode(node, frame) },
    }),
  );
  const meshChanges = watchMeshes(database, tree, relay);
  unwind.add('networks', () => meshChanges.stop());
  unwind.add('requests to webhooks', () => posts.close());
  unwind.add('publishing', () => publishing.stop());
  await publishing.start();
  unwind.add(
    'executions of other admins',
    watchElsewhere({
      changed: (awaited) => changedExecutions(pool, awaited),
      watched: () => feeds.open(),
      directory: tree.directory,
      bus,
      clock,
      log,
    }),
  );
  const sweeps = createSweeps(pool, {
    adminId,
    executionDays: config.EXECUTION_RETENTION_DAYS,
    eventDays: config.EVENT_RETENTION_DAYS,
    deliveryDays: config.WEBHOOK_DELIVERY_RETENTION_DAYS,
    recordingDays: config.SSH_RECORDING_RETENTION_DAYS,
  });
  const goneAfterMs = config.RANDOM_NODE_FORGET_AFTER_MS;
  unwind.add(
    'sweeps',
    startSweeper({
      sweeps: {
        ...sweeps,
        findGone: async () =>
          goneAfterMs === 0
            ? []
            : findGone(
                pool,
                tree.ownership.heldFor(Math.min(goneAfterMs, AGENTS_BACK_MS_MAX)),
                goneAfterMs,
                GONE_NODES_MAX,
              ),
        storePresence: () => storePresence(pool, sessions.heard()),
        findForgotten: () => findForgotten(pool, adminId, SWEEP_ROWS_MAX),
        markOwnerless: () =>
          markOwnerless(
            pool,
            { unreachableAfterMs: config.NODE_UNREACHABLE_AFTER_MS, watchedMs: tree.ownership.watchedMs() },
            SWEEP_ROWS_MAX,
          ),
        forgetAdmins: () => registry.forgetGone(config.ADMIN_FORGET_AFTER_MS),
        batchRows: SWEEP_ROWS_MAX,
      },
      directory: tree.directory,
      bus,
      clock,
      log,
      isClockRight: () => !clock.isSkewed(),
    }),
  );

  return { url, tree, proxies, setBack: incarnation.isOver, stop: () => unwind.run() };
}

/** Networks are read when their rows say that they changed, and the relay sees who is still let in (E5). */
function watchMeshes(database: Database, { mesh }: Tree, relay: EmbeddedRelay): { stop(): Promise<void> } {
  const listener = database.listen([MESH_CHANGES], systemClock);
  listener.onNotice((_channel, payload) => {
    mesh.changed(payload as ClusterId | null);
    relay.changed(payload);
  });
  mesh.start();
  return {
    async stop() {
      mesh.stop();
      await listener.stop();
    },
  };
}

/** The debug dashboard, where it is switched on. */
function debugMount(
  config: AdminConfig,
  { tree, sessions, pool }: { readonly tree: Tree; readonly sessions: Sessions; readonly pool: Database['pool'] },
): readonly Mount[] {
  if (!config.ADMIN_DEBUG_DASHBOARD_ENABLED) return [];
  const credentials = config.ADMIN_DEBUG_AUTH_ENABLED
    ? { username: config.ADMIN_DEBUG_DASHBOARD_USERNAME, password: config.ADMIN_DEBUG_DASHBOARD_PASSWORD ?? '' }
    : null;
  return [
    mountDebug({
      admin: { name: config.ADMIN_NAME, version: packageFile.version },
      credentials,
      failuresPerMinuteMax: config.AUTH_FAILURES_PER_MINUTE_MAX,
      clock: systemClock,
      sights: {
        ...createInspection(tree.directory),
        counters: () => tree.directory.counters,
        sessions: (limit) => ({ sessions: sessions.sights(limit), total: sessions.count() }),
        database: createDatabaseInspection(pool, BACKLOG_COUNTED_MAX),
      },
    }),
  ];
}

interface Publishing {
  readonly webhooks: Channel;
  /** Null: none is configured. */
  readonly broker: BrokerChannel | null;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The channels by which events leave, and the ear that wakes them. */
function createPublishing(
  config: AdminConfig,
  database: Database,
  committer: GroupCommitter,
  adminId: string,
  { directory }: Tree,
  leaseClockMs: () => number,
  log: Log,
): Publishing {
  const { pool } = database;
  const clock = systemClock;
  const leases = channelLeases(database.writes, adminId);
  const channelPorts = (name: string) => ({
    lease: {
      claim: () => leases.claim(name),
      renew: (epoch: number) => leases.renew(name, epoch),
      release: (epoch: number) => leases.release(name, epoch),
    },
    leaseMs: CHANNEL_LEASE_MS,
    clock,
    leaseClockMs,
    random: Math.random,
    log,
  });
  const webhooks = createWebhooksChannel({
    ...channelPorts(WEBHOOKS_CHANNEL),
    directory,
    routing: {
      route: (epoch) => routeEvents(pool, epoch, config.WEBHOOK_MAX_ATTEMPTS),
      caughtUp: () => committer.caughtUp(),
      waiting: () => webhooksWithDeliveries(pool),
    },
  });
  const settings = config.broker;
  const broker =
    settings === null
      ? null
      : createBrokerChannel({
          ...channelPorts(BROKER_CHANNEL),
          open: () => openBroker(settings, log),
          rows: {
            next: (epoch, after, limit) =>
              nextForBroker(pool, epoch, after, limit, config.EVENT_DELIVERY_MAX_AGE_SECONDS * 1_000, config.CORE_NAME),
            advance: (epoch, to) => advanceBroker(pool, epoch, to),
          },
        });
  const listener = database.listen([EVENTS_STORED, WEBHOOK_CHANGES], clock);
  let hasListened = false;
  listener.onNotice((channel, payload) => {
    if (channel === WEBHOOK_CHANGES) {
      const [by, id] = payload?.split(' ') ?? [];
      if (id !== undefined && by !== adminId) directory.evictWebhooks([id]);
      if (payload === null && hasListened) webhooks.reread();
      hasListened = true;
      return;
    }
    webhooks.poke();
    broker?.poke();
  });
  return {
    webhooks,
    broker,
    start: async () => {
      await Promise.all([webhooks.start(), broker?.start()]);
    },
    stop: async () => {
      await Promise.all([listener.stop(), webhooks.stop(), broker?.stop()]);
    },
  };
}

/** The proxies, by which people reach nodes and what is behind them. Rejects when one of them cannot listen. */
async function listenForClients(config: AdminConfig, reach: Reach, log: Log): Promise<Proxies> {
  const hosts = [config.ADMIN_PROXY_HOST];
  const proxies = await startProxies({
    log,
    ports: {
      admit: createAdmission({
        passwords: [config.PROXY_KEY, config.MASTER_KEY],
        isEnforced: config.PROXY_AUTH_ENABLED,
        username: null,
        failures: createAddressLimiter(
          {
            perWindowMax: config.AUTH_FAILURES_PER_MINUTE_MAX,
            windowMs: FAILURES_WINDOW_MS,
            keysMax: FAILURES_ADDRESSES_MAX,
          },
          systemClock,
        ),
      }),
      dial: reach.dial,
    },
    http: { hosts, port: config.ADMIN_HTTP_PROXY_PORT, setting: 'ADMIN_HTTP_PROXY_PORT' },
    socks5: { hosts, port: config.ADMIN_SOCKS5_PROXY_PORT, setting: 'ADMIN_SOCKS5_PROXY_PORT' },
    limits: { idleMsMax: config.ADMIN_PROXY_IDLE_MS, lifeMsMax: config.ADMIN_PROXY_LIFE_MS },
  });
  const problem = proxies.http.problem() ?? proxies.socks5.problem();
  if (problem === null) return proxies;
  await proxies.close(0);
  throw new Error(problem);
}
