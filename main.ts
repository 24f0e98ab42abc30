/** The admin, put together. The only file that sees every folder; it reads as the boot order. */
import { createBus } from './actors/bus.ts';
import type { Log } from './transport/net/log.ts';
import { SESSION_AGES } from './api/console/limits.ts';
import { openSurfaces, type Surfaces } from './api/open-surfaces.ts';
import packageFile from './package.json' with { type: 'json' };
import { openAdminMessages } from './persistence/admins/open-admin-messages.ts';
import { openStorage, type OpenStorageOptions } from './persistence/open-storage.ts';
import type { Storage } from './persistence/storage.ts';
import { createAdminUrls } from './settings/admin-urls.ts';
import { gateSettings, ownNames, type AdminConfig } from './settings/admin.ts';
import { certificateSource } from './settings/server.ts';
import { openActors } from './supervisors/open-actors.ts';
import { openPublishing } from './supervisors/publishing/open-publishing.ts';
import { startTasks } from './supervisors/start-tasks.ts';
import type { Tree } from './supervisors/tree.ts';
import { keepVpns } from './supervisors/vpn/upkeep.ts';
import { openAdminLinks } from './transport/admins/open-admin-links.ts';
import { LINK_VERSION } from './transport/admins/protocol/version.ts';
import { brokerOpener } from './transport/events/brokers/adapters.ts';
import { openWebhooks } from './transport/events/webhooks/open-webhooks.ts';
import { watchCertificate } from './transport/net/tls/certificate-watch.ts';
import { createLeaseClock, monotonicMs } from './transport/net/clock.ts';
import { createUnwind } from './transport/net/unwind.ts';
import { openAgentLinks } from './transport/open-agent-links.ts';
import { createClientProxies } from './transport/proxies/client-proxies.ts';
import type { Proxies } from './transport/proxies/proxies.ts';
import { createMirror } from './transport/releases/mirror.ts';
import { createAgentSettings } from './transport/sessions/agent-settings.ts';
import { createTracing } from './transport/tracing/tracing.ts';
import { openVpn } from './transport/vpn/open-vpn.ts';

/** A running admin. */
export interface RunningAdmin extends Pick<Storage, 'setBack' | 'takenOver'> {
  /** Where it answers. */
  readonly url: string;
  readonly tree: Tree;
  /** Null: they are switched off. */
  readonly proxies: Proxies | null;
  /** Stops in order: agents are told to come back, requests in flight end, leases are released. Bounded. */
  stop(): Promise<void>;
}

/**
 * Starts an admin. Rejects with an error whose message is for the operator, and leaves nothing running then; with the
 * reason of the signal where that aborts while the database is waited for.
 */
export async function startAdmin(config: AdminConfig, log: Log, signal: AbortSignal): Promise<RunningAdmin> {
  const ends = createUnwind(log);
  try {
    const parts = await openParts(config, { log, ends, signal });
    const { url, feeds } = await openToOthers(config, parts);
    await startActors(parts, feeds);
    const { actors, proxies, storage } = parts;
    const { setBack, takenOver } = storage;
    return { url, tree: actors.tree, proxies: proxies.running(), setBack, takenOver, stop: () => ends.run() };
  } catch (error) {
    await ends.run();
    throw error;
  }
}

/** What an admin is made of. */
type Parts = Awaited<ReturnType<typeof openParts>>;

/** The parts, connected to each other. Nobody can come in yet, and no actor lives. */
async function openParts(config: AdminConfig, start: Pick<OpenStorageOptions, 'log' | 'ends' | 'signal'>) {
  const { log, ends } = start;
  const { version } = packageFile;
  const bus = createBus(log);
  const news = createBus(log, bus); // what all admins commit, for who shows it; who acts on a commit hears `bus`
  const urls = createAdminUrls(config);
  const tracing = await createTracing({ variables: config.tracing, version, instance: config.ADMIN_NAME, log, ends });
  const storage = await openStorage(config, { ...start, version, linkVersion: LINK_VERSION, urls, bus });
  const { adminId, clock, vault } = storage;
  const { tracer } = tracing;
  const base = { adminId, version, bus, news, clock, log, ends, tracer, leaseClockMs: createLeaseClock() };
  const told = createAgentSettings(config, urls.all);
  const actors = openActors(config, { ...base, ...storage.forActors(), agentSettings: () => told.settings });
  const { directory, held, ownership } = actors.tree;
  told.peersKnownBy(() => ownership.hasPeers());
  const wires = { ...base, directory, held, ownership, told, urls };
  const agents = openAgentLinks(config, { ...wires, rows: storage.forAgents() });
  const vpnRows = storage.forVpn();
  const vpn = openVpn(config, { ...wires, ...agents, rows: vpnRows });
  const links = openAdminLinks(config, { ...base, ...storage.forAdminLinks(), vault });
  const peers = openAdminMessages(storage, { ...wires, ...agents, wakeUps: actors.wakeUps });
  await vpn.observe();
  const rows = storage.forPublishing();
  const publishing = openPublishing({ ...wires, rows, openBroker: brokerOpener(config.broker, log) });
  const webhooks = openWebhooks(config, { ...base, ...publishing, vault, bodyOf: storage.eventBodies() });
  const { webhookSupply } = publishing;
  actors.connect({ sessions: agents.sessions, gateway: vpn.gateway, webhookSender: webhooks.sender, webhookSupply });
  // What the actors decided is stored, and the gateway is out of their VPNs, before others may take them over.
  ends.add('leases', () => ownership.stop());
  ends.add('the gateway', () => vpn.gateway.close());
  ends.add('commits', () => storage.drained());
  const proxies = createClientProxies(config, { ...base, ...agents });
  const releases = createMirror(config, storage.forReleases(), monotonicMs);
  const others = { links, peers, webhooks, publishing, proxies, releases };
  return { base, urls, tracing, storage, actors, agents, vpn, vpnRows, ...others };
}

/** Where people, programs and agents come in. Answers the URL. */
async function openToOthers(config: AdminConfig, parts: Parts) {
  const { base, urls, storage, actors, links, agents, vpn, proxies } = parts;
  base.ends.add('links to admins', () => links.close());
  const { api, feeds, terminals, peerCalls } = openSurfaces(config, {
    ...base,
    ...parts,
    rows: storage.forSurfaces(),
    areAllEventsTold: () => storage.peers.areThere(),
    adminUrls: urls.all,
    gate: gateSettings(config),
    ownNames: ownNames(config),
    certificate: watchCertificate(certificateSource(config), base),
  });
  base.ends.add('calls of other admins', () => links.dismiss());
  links.admit(api, peerCalls, {
    isHere: (id) => actors.tree.directory.isLocal({ kind: 'node', id }),
    liveOutput: (...asked) => feeds.executions.liveOutput(...asked),
  });
  agents.admit(api, links.relays);
  base.ends.add('terminals', () => terminals.end()); // by way of the tunnels, which end next
  const url = urls.listensAt(await api.listen(config.ADMIN_API_HOST, config.ADMIN_API_PORT));
  await proxies.open();
  await vpn.relayFor((what, work) => storage.step(what, work));
  return { url, feeds };
}

/** Actors, events and sweeps. Sweeps and events end first, so that nothing new begins while the rest ends. */
async function startActors(parts: Parts, feeds: Surfaces['feeds']): Promise<void> {
  const { base, storage, agents, vpn, vpnRows, publishing, webhooks } = parts;
  const { wakeUps } = parts.actors;
  const { directory, ownership, vpnWatcher } = parts.actors.tree;
  await storage.step('taking up leases', () => ownership.start());
  keepVpns({ ...base, ...vpn, ownership, rows: vpnRows, watcher: vpnWatcher, sessions: agents.sessions });
  base.ends.add('requests to webhooks', () => webhooks.sender.close());
  await publishing.start();
  const elsewhere = { ...storage.forElsewhere(), watched: () => feeds.open(), source: parts.links.news };
  const rows = storage.forSweeps({ ownership, heard: () => agents.sessions.heard(), consoleSessions: SESSION_AGES });
  const sweeps = { ...rows, missed: () => wakeUps.missed() };
  await startTasks({ ...base, directory, ownership }, { elsewhere, sweeps, selfUpdates: storage.forSelfUpdates() });
  base.ends.add('clusters', () => ownership.handOverAll());
}
