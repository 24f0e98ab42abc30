/** The admin, put together. The only file that sees every folder; it reads as the boot order. */
import { createBus } from './actors/bus.ts';
import type { Log } from './transport/net/log.ts';
import { openSurfaces, type Surfaces } from './api/open-surfaces.ts';
import packageFile from './package.json' with { type: 'json' };
import { openAdminMessages } from './persistence/open-admin-messages.ts';
import { openStorage } from './persistence/open-storage.ts';
import { hearStoredEvents } from './persistence/publishing/event-notices.ts';
import { createAdminUrls } from './settings/admin-urls.ts';
import { gateSettings, ownNames, type AdminConfig } from './settings/admin.ts';
import { serverCertificate } from './settings/server-certificate.ts';
import { certificateFiles } from './settings/server.ts';
import { watchElsewhere } from './supervisors/elsewhere.ts';
import { openActors } from './supervisors/open-actors.ts';
import { openPublishing } from './supervisors/publishing/open-publishing.ts';
import { SelfUpdates } from './supervisors/self-updates.ts';
import { startSweeper } from './supervisors/sweeper.ts';
import type { Tree } from './supervisors/tree.ts';
import { keepVpns } from './supervisors/vpn/upkeep.ts';
import { openAdminLinks } from './transport/admins/open-admin-links.ts';
import { LINK_VERSION } from './transport/admins/protocol/version.ts';
import { brokerOpener } from './transport/events/brokers/adapters.ts';
import { openWebhooks } from './transport/events/webhooks/open-webhooks.ts';
import { CertificateWatch } from './transport/net/tls/certificate-watch.ts';
import { createLeaseClock, monotonicMs } from './transport/net/clock.ts';
import { createUnwind, type Unwind } from './transport/net/unwind.ts';
import { openAgentLinks } from './transport/open-agent-links.ts';
import { createClientProxies } from './transport/proxies/client-proxies.ts';
import type { Proxies } from './transport/proxies/proxies.ts';
import { createMirror } from './transport/releases/mirror.ts';
import { createAgentSettings } from './transport/sessions/agent-settings.ts';
import { createTracing } from './transport/tracing/tracing.ts';
import { openVpn } from './transport/vpn/open-vpn.ts';

/** A running admin. */
export interface RunningAdmin {
  /** Where it answers. */
  readonly url: string;
  readonly tree: Tree;
  /** Null: they are switched off. */
  readonly proxies: Proxies | null;
  /** Resolves when the database was set back, restored or promoted beneath it: it is to be stopped and started anew. */
  readonly setBack: Promise<void>;
  /** Resolves when another process has taken over its name: it delivers nothing more, and is to be ended at once. */
  readonly takenOver: Promise<Error>;
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
    const parts = await openParts(config, log, ends, signal);
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
async function openParts(config: AdminConfig, log: Log, ends: Unwind, signal: AbortSignal) {
  const { version } = packageFile;
  const bus = createBus(log);
  const news = createBus(log, bus); // what all admins commit, for who shows it; who acts on a commit hears `bus`
  const urls = createAdminUrls(config);
  const tracing = await createTracing({ variables: config.tracing, version, instance: config.ADMIN_NAME, log });
  ends.add('traces', () => tracing.close());
  const storage = await openStorage(config, { version, linkVersion: LINK_VERSION, urls, bus, log, ends, signal });
  const { adminId, clock, vault } = storage;
  const leaseClockMs = createLeaseClock();
  const base = { adminId, version, bus, news, tracer: tracing.tracer, clock, leaseClockMs, log, ends };

  const told = createAgentSettings(config, urls.all);
  const actors = openActors(config, { ...base, ...storage.forActors(), agentSettings: told.settings });
  const { directory, held, ownership } = actors.tree;
  told.peersKnownBy(() => ownership.hasPeers());
  const wires = { ...base, directory, held, ownership, told, urls };
  const agents = openAgentLinks(config, { ...wires, rows: storage.forAgents() });
  const vpnRows = storage.forVpn();
  const vpn = openVpn(config, { ...wires, ...agents, rows: vpnRows });
  agents.preferVpn((node) => vpn.gateway.urlFor(node));
  const links = openAdminLinks(config, { ...base, ...storage.forAdminLinks(), vault });
  const peers = openAdminMessages(storage, { ...wires, ...agents, wakeUps: actors.wakeUps });
  hearStoredEvents(storage, () => news.publish([{ type: 'events-stored' }]));
  await vpn.observe();
  const openBroker = brokerOpener(config.broker, log);
  const publishing = openPublishing({ ...wires, rows: storage.forPublishing(), openBroker });
  const mayDeliver = publishing.deliversWebhooks;
  const webhooks = openWebhooks(config, { ...base, vault, bodyOf: storage.eventBodies(), mayDeliver });
  actors.connect({ sessions: agents.sessions, gateway: vpn.gateway, webhookSender: webhooks.sender });
  // What the actors decided is stored, and the gateway is out of their VPNs, before others may take them over.
  ends.add('leases', () => ownership.stop());
  ends.add('the gateway', () => vpn.gateway.close());
  ends.add('commits', () => storage.drained());
  const proxies = createClientProxies(config, { reach: agents.reach, log });
  const releases = createMirror(config, storage.forReleases(), monotonicMs);
  return {
    base,
    urls,
    tracing,
    storage,
    actors,
    releases,
    links,
    agents,
    vpn,
    vpnRows,
    peers,
    publishing,
    webhooks,
    proxies,
  };
}

/** Where people, programs and agents come in. Answers the URL. */
async function openToOthers(config: AdminConfig, parts: Parts) {
  const { base, urls, storage, links, agents, vpn, proxies } = parts;
  const { api, feeds, peerCalls } = openSurfaces(config, {
    ...base,
    ...parts,
    rows: storage.forSurfaces(),
    areAllEventsTold: () => storage.peers.areThere(),
    adminUrls: urls.all,
    gate: gateSettings(config),
    ownNames: ownNames(config),
    certificate: certificateOf(config, base),
  });
  base.ends.add('links to admins', () => links.close());
  base.ends.add('the API', () => {
    links.dismiss();
    return api.close();
  });
  const { directory } = parts.actors.tree;
  links.admit(api, peerCalls, {
    isHere: (id) => directory.isLocal({ kind: 'node', id }),
    liveOutput: (...asked) => feeds.executions.liveOutput(...asked),
  });
  agents.admit(api, links.relays);
  const url = urls.listensAt(await api.listen(config.ADMIN_API_HOST, config.ADMIN_API_PORT));
  await proxies.open();
  base.ends.add('the proxies', () => proxies.close());
  await vpn.relayFor((what, work) => storage.step(what, work));
  return { url, feeds };
}

/** With which it serves HTTPS, kept as its files are; null: it serves plain HTTP. */
function certificateOf(config: AdminConfig, { clock, log, ends }: Parts['base']): CertificateWatch | null {
  const files = certificateFiles(config);
  if (files === null) return null;
  const watch = new CertificateWatch({
    files: files.map(({ path }) => path),
    read: () => serverCertificate(...files, clock.nowMs()),
    after: (ms, task) => clock.after(ms, task),
    log,
  });
  ends.add('the certificate', () => watch.close());
  return watch;
}

/** Actors, events and sweeps. Sweeps and events end first, so that nothing new begins while the rest ends. */
async function startActors(parts: Parts, feeds: Surfaces['feeds']): Promise<void> {
  const { base, storage, agents, vpn, vpnRows, publishing, webhooks } = parts;
  const { ends, clock } = base;
  const { directory, ownership, vpnWatcher } = parts.actors.tree;
  await storage.step('taking up leases', () => ownership.start());
  keepVpns({ ...base, ...vpn, rows: vpnRows, watcher: vpnWatcher, sessions: agents.sessions });
  ends.add('requests to webhooks', () => webhooks.sender.close());
  ends.add('publishing', () => publishing.stop());
  await publishing.start();
  const changed = storage.changedExecutions.bind(storage);
  const elsewhere = { ...base, changed, watched: () => feeds.open(), directory, source: parts.links.news };
  ends.add('executions of other admins', watchElsewhere(elsewhere));
  const selfUpdates = new SelfUpdates({ ...base, ...storage.forSelfUpdates(), directory });
  ends.add('self-updates', () => selfUpdates.stop());
  await selfUpdates.start();
  const rows = storage.forSweeps({
    heldFor: (ms) => ownership.heldFor(ms),
    watchedMs: () => ownership.watchedMs(),
    heard: () => agents.sessions.heard(),
  });
  const sweeper = startSweeper({ ...base, ...rows, directory, isClockRight: () => !clock.isSkewed() });
  ends.add('sweeps', () => sweeper.stop());
  ends.add('clusters', () => ownership.handOverAll());
}
