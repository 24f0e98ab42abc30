/** The API server: one HTTP port for REST, documentation, health, and whatever else is mounted on it. */
import type { IncomingMessage, Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Server as HttpsServer } from 'node:https';
import type { Log } from '../../transport/net/log.ts';
import { noteClient, TrustedProxies } from '../../transport/net/client-address.ts';
import { TlsFront } from '../../transport/net/tls/front.ts';
import { createTracer, type Tracer } from '../../actors/tracer.ts';
import { refuse } from '../../actors/refusal.ts';
import { createCall, type CallOperation } from '../call.ts';
import { catalogue } from '../catalogue.ts';
import { enroll_agent } from '../enrolling.ts';
import type { ProxyPorts } from '../docs/guide/page.ts';
import { Forwarding } from '../forwarding/forwarding.ts';
import type { PeerCallHandler } from '../forwarding/ports.ts';
import { mountInternal, type InternalPaths } from '../internal/mount.ts';
import { createPeerCallHandler } from '../internal/peer-calls.ts';
import { registerDocumentation } from '../docs/routes.ts';
import { publishedRelease } from '../install/published.ts';
import { registerInstallation } from '../install/routes.ts';
import type { AnyOperation } from '../operation.ts';
import type { OperationPorts } from '../ports.ts';
import { createGate, type Gate, type GateSettings } from '../principals.ts';
import { createRequestRecords, type RequestRecords } from '../request-record.ts';
import { createWebPages, type OwnNames, type WebPages } from '../origins.ts';
import { registerAdminMetrics } from './admin-metrics.ts';
import { sendRefusal } from './answers.ts';
import { registerDiscovery } from './discovery.ts';
import { registerDiagnoses } from './diagnoses.ts';
import { registerEnrollment } from './enroll.ts';
import { createApp, HEADERS_MAX, markAnswer, type AppSettings, type ServedCertificate } from './app.ts';
import { answerFailures, answerPlainHttp, answerNonRequests } from './failures.ts';
import { registerHealth } from './health.ts';
import { readJsonBodies } from './json-body.ts';
import { lingerAfterAnswers } from './lingering.ts';
import { Listening } from './listening.ts';
import { label_given_nodes } from '../labelling.ts';
import { make_room } from '../forwarding/freed-capacity.ts';
import { registerLeaving } from './leaving.ts';
import { registerNodeMetrics } from './node-metrics.ts';
import { registerReleases } from './releases.ts';
import { registerRecordings, type RecordingLimits } from './recordings.ts';
import { timeRequests } from './request-timing.ts';
import { tellRequests } from './request-records.ts';
import { registerOperations } from './routes.ts';
import { routeUpgrades, type TakeUpgrade, type UpgradeHandler } from './upgrades.ts';

/** Requests in flight get this long when the server closes, in ms. */
const CLOSE_GRACE_MS = 5_000;

/** Sockets that were taken over get this long to say goodbye, in ms. */
const UPGRADED_GRACE_MS = 1_000;

/** What the operator decides about the API. */
export interface ApiSettings extends AppSettings {
  readonly gate: GateSettings;
  /** Of SSH sessions. */
  readonly recordings: RecordingLimits;
  readonly docsEnabled: boolean;
  /** Whether the start page leads to the console. Default: no. */
  readonly consoleEnabled?: boolean;
  /** Addresses and ranges of proxies that are believed whose a request is. Default: none. */
  readonly trustedProxies?: readonly string[];
  /** A download of a release that takes nothing for so long is cut, in ms. Tests wait less than is the default. */
  readonly releaseStallMsMax?: number;
  /** What this admin is called besides its `adminUrls`. Default: nothing. */
  readonly ownNames?: OwnNames;
  /** Where the proxies listen, for documentation; null or left out: nowhere. */
  readonly proxyPorts?: () => ProxyPorts | null;
  readonly version: string;
}

/** What the API is made of. */
export interface ApiKit {
  readonly ports: OperationPorts;
  readonly log: Log;
  readonly settings: ApiSettings;
  /** Mounts other surfaces before the server listens: tRPC, MCP, live feeds. */
  readonly mounts?: readonly Mount[];
  /** Default: nobody records traces. */
  readonly tracer?: Tracer;
  /** Default: there are no other admins. */
  readonly forwarding?: Forwarding;
}

/**
 * What a mounted surface gets: the app for routes, the one call path, the gate for what is no operation, and upgrades.
 */
export interface MountKit {
  readonly app: FastifyInstance;
  readonly call: CallOperation;
  readonly gate: Gate;
  readonly log: Log;
  readonly records: RequestRecords;
  readonly pages: WebPages;
  readonly onUpgrade: (path: string, handler: UpgradeHandler) => void;
}

/** Puts one more surface on the server. */
export type Mount = (kit: MountKit) => void;

/** The API server and what shares its port. */
export interface Api extends InternalPaths {
  readonly server: Server;
  readonly call: CallOperation;
  readonly gate: Gate;
  /** Does what other admins ask for. */
  readonly peerCalls: PeerCallHandler;
  /** Hands upgrade requests of this exact path to a handler, also after `listen`. */
  readonly onUpgrade: (path: string, handler: UpgradeHandler) => void;
  /** Offers upgrade requests of this exact path to whoever answers for other admins. */
  onInternalUpgrade(path: string, take: TakeUpgrade): void;
  /** Binds and answers the URL. Port 0 takes a free one. Rejects when the port is taken. `localhost`: `Listening`. */
  listen(host: string, port: number): Promise<string>;
  /**
   * New requests are refused with 503, those in flight get CLOSE_GRACE_MS and sockets that were taken over
   * UPGRADED_GRACE_MS, then all are closed.
   */
  close(): Promise<void>;
}

/** The API server, not yet listening. */
export function createApi(kit: ApiKit): Api {
  const { ports, log, settings, mounts = [], tracer = createTracer(null), forwarding = new Forwarding(null) } = kit;
  const records = createRequestRecords(tracer, log);
  const app = createApp(settings, log, records);
  const pages = createWebPages(namesOf(ports.settings, settings.ownNames));
  const gate = createGate(settings.gate, ports.clock, pages);
  const call = createCall({ ports, gate, log, records, forwarding });
  const front = frontOf(app.server, settings.certificate ?? null);
  const upgrades = routeUpgrades(app.server, pages, log);
  const internal = mountInternal(app, pages);
  noteClients(app.server, new TrustedProxies(settings.trustedProxies ?? []));
  const listening = new Listening(app, log);
  let closing = false;

  app.addHook('onRequest', (request, reply, next) => {
    markAnswer(request, reply, records);
    const foreign = pages.foreignOrigin(request.raw);
    if (request.raw.rawHeaders.length >= 2 * HEADERS_MAX) sendRefusal(reply, TOO_MANY_HEADERS);
    else if (closing) sendRefusal(reply.header('connection', 'close'), STOPPING);
    else if (foreign !== null) sendRefusal(reply, foreign);
    else next();
  });
  timeRequests(app, Object.values(catalogue), ports.adminMetrics.requests, TIMED_BY_CALL);
  tellRequests(app, records);
  lingerAfterAnswers(app);
  answerFailures(app, log);
  answerNonRequests(app.server);
  readJsonBodies(app);
  registerRoutes(app, { ports, log, settings, call, gate, forwarding });
  for (const mount of mounts)
    mount({ app, call, gate, log, records, pages, onUpgrade: (path, handler) => upgrades.onUpgrade(path, handler) });

  return {
    server: app.server,
    call,
    gate,
    onUpgrade: (path, handler) => upgrades.onUpgrade(path, handler),
    onInternalUpgrade: (path, take) => upgrades.onInternalUpgrade(path, take),
    onInternal: (path, take) => internal.onInternal(path, take),
    peerCalls: createPeerCallHandler({ operations: OPERATIONS, ports, forwarding, records, log }),
    async listen(host, port) {
      return `${front === null ? 'http' : 'https'}://${await listening.open(host, port)}`;
    },
    async close() {
      closing = true;
      front?.hangUpOnSilent();
      const force = setTimeout(() => {
        app.server.closeAllConnections();
        front?.hangUp();
      }, CLOSE_GRACE_MS);
      const closed = Promise.all([app.close(), listening.close()]);
      app.server.closeIdleConnections();
      await Promise.all([closed, upgrades.closeAll(UPGRADED_GRACE_MS)]);
      clearTimeout(force);
    },
  };
}

/** Before all others see a request. */
function noteClients(server: Server, proxies: TrustedProxies): void {
  for (const event of ['request', 'upgrade'] as const)
    server.prependListener(event, (request: IncomingMessage) => noteClient(request, proxies));
}

/** What stands before a server that shows a certificate; null: it shows none. */
function frontOf(server: Server, certificate: ServedCertificate | null): TlsFront | null {
  if (certificate === null) return null;
  const front = new TlsFront(server as HttpsServer, answerPlainHttp, certificate.turnedAway);
  certificate.onChange((pair) => front.show(pair));
  return front;
}

/** Every route of this server but those of other surfaces. */
function registerRoutes(
  app: FastifyInstance,
  {
    ports,
    log,
    settings,
    call,
    gate,
    forwarding,
  }: Pick<ApiKit, 'ports' | 'log' | 'settings'> & Pick<Api, 'call' | 'gate'> & Required<Pick<ApiKit, 'forwarding'>>,
): void {
  registerHealth(app, ports);
  registerEnrollment(app, ports, forwarding);
  registerRecordings(app, ports, settings.recordings);
  registerReleases(app, ports.releases, gate, settings.releaseStallMsMax);
  registerDiagnoses(app, ports);
  registerLeaving(app, ports, forwarding);
  registerNodeMetrics(app, ports, gate);
  registerDiscovery(app, ports, gate, log);
  registerAdminMetrics(app, ports.adminMetrics, gate);
  const adminUrls = () => ports.settings.adminUrls;
  registerInstallation(app, {
    adminUrls,
    published: publishedRelease(ports.releases),
    nowMs: () => ports.clock.nowMs(),
  });
  registerOperations(app, Object.values(catalogue), call, gate);
  if (settings.docsEnabled)
    registerDocumentation(app, Object.values(catalogue), {
      version: settings.version,
      coreName: ports.settings.coreName,
      adminUrls,
      domain: ports.settings.vpnDomain,
      proxyPorts: settings.proxyPorts ?? (() => null),
      checkHealth: () => ports.checkHealth(),
      hasConsole: settings.consoleEnabled ?? false,
    });
}

/** What other admins may ask for, by name. */
const OPERATIONS = new Map(Object.entries<AnyOperation>({ ...catalogue, label_given_nodes, enroll_agent, make_room }));

/** Surfaces of which each call is timed where it is made: their requests hold many calls, or last for hours. */
const TIMED_BY_CALL = ['/api/trpc', '/mcp'];

/** The URLs stay those of the ports: they are learnt when the admin listens. */
function namesOf(
  settings: Pick<OperationPorts['settings'], 'adminUrls'>,
  own: OwnNames = { urls: [], hosts: [] },
): OwnNames {
  return {
    hosts: own.hosts,
    get urls() {
      return [...settings.adminUrls, ...own.urls];
    },
  };
}

const TOO_MANY_HEADERS = refuse('bad_request', 'The request has too many headers.', {
  headers: [`must be fewer than ${HEADERS_MAX}`],
}).refusal;
const STOPPING = { ...refuse('service_unavailable', 'This admin is shutting down.').refusal, retryAfterSeconds: 1 };
