/** The subsystems of one admin: what /healthz and check_admin_health check. Source: docs/health.md. */
import { DoesNotApply, HealthNote, HealthProblem, retried, type HealthCheck } from './check-runner.ts';
import { BROKER_PROBLEM, CERTIFICATE_LEFT_MS_MIN, judgedRelay } from './own-problems.ts';
import type { HealthPorts } from './ports.ts';

/**
 * An admin checks in and renews its leases each second. Quiet for longer than this, it is unhealthy, in ms. Source:
 * invariants, O2.
 */
export const OWNERSHIP_QUIET_MS_MAX = 5_000;

/**
 * Tries of the VPN manager, the time of each, and the wait between two of them, in ms: together they fit CHECK_MS_MAX.
 * Source: docs/health.md: it alone retries.
 */
export const VPN_MANAGER_TRIES_MAX = 3;
export const VPN_MANAGER_TRY_MS_MAX = 1_200;
export const VPN_MANAGER_RETRY_MS = 500;

/** What is published of releases should hold for so much longer, in ms. */
const RELEASES_LEFT_MS_MIN = 7 * 86_400_000;

/** Events that wait for the broker are counted up to this. */
const BACKLOG_COUNTED_MAX = 100_000;

const DAY_MS = 86_400_000;

/** All of them, in a fixed order. */
export function subsystems(ports: HealthPorts): readonly HealthCheck[] {
  return [
    database(ports),
    databaseClock(ports),
    peerMembership(ports),
    ownershipMetadata(ports),
    vpnManagerCheck(ports),
    vpnClientCheck(ports),
    proxyServers(ports),
    eventBroker(ports),
    relayCheck(ports),
    tlsCertificate(ports),
    releaseMetadata(ports),
  ];
}

function database({ rows }: HealthPorts): HealthCheck {
  return {
    name: 'database',
    async check() {
      await takesWrites(rows);
      if (await rows.eventsLieBehind())
        throw new HealthProblem('events are stored behind what was published: start this admin again');
    },
  };
}

function databaseClock({ clock }: HealthPorts): HealthCheck {
  return {
    name: 'database_clock',
    check: problemFree(() =>
      clock.isSkewed()
        ? `the clock of this machine is ${Math.round(Math.abs(clock.skewMs()) / 1_000)} s ${clock.skewMs() > 0 ? 'ahead of' : 'behind'} the database's: nothing is pruned until they agree`
        : null,
    ),
  };
}

function peerMembership({ rows, peers, links }: HealthPorts): HealthCheck {
  return {
    name: 'peer_membership',
    async check() {
      const ageMs = await rows.registrationAgeMs();
      if (ageMs === null) throw new HealthProblem('this admin is not registered: its peers do not know of it');
      if (ageMs > OWNERSHIP_QUIET_MS_MAX)
        throw new HealthProblem('this admin has not checked in in time: its peers take it for gone');
      const { total, unheard } = await peers.unheard();
      if (unheard > 0)
        throw new HealthProblem(
          `${unheard} of ${total} admins that check in are not heard here: what they notify does not arrive`,
        );
      // it serves all that it can: taking it out of service would help nobody
      const notes = [unreachedNote(links()), (await rows.isDraining()) ? DRAINS : null].filter((note) => note !== null);
      if (notes.length > 0) throw new HealthNote(notes.join('; '));
    },
  };
}

const DRAINS = 'this admin drains: it gives its clusters away and takes none';

/** Null: all are reached. */
export function unreachedNote({ total, unreached }: ReturnType<HealthPorts['links']>): string | null {
  if (unreached === 0) return null;
  const what =
    unreached === 1
      ? 'is not reached from here: what it owns is asked of it by way of the database, and news of it come late'
      : 'are not reached from here: what they own is asked of them by way of the database, and news of them come late';
  return `${unreached} of ${total} other admins ${what}`;
}

/** Not red for nodes that cannot be read: whoever is asked for is served all the same, and so is all else. */
function ownershipMetadata({ rows, leasesQuietMs, lateClusters }: HealthPorts): HealthCheck {
  return {
    name: 'ownership_metadata',
    async check() {
      if (leasesQuietMs() > OWNERSHIP_QUIET_MS_MAX) throw new HealthProblem('leases were not renewed in time');
      const unrecorded = await rows.unrecordedClusters();
      if (unrecorded > 0) throw new HealthProblem(`${unrecorded} clusters have no record of their owner`);
      const late = lateClusters(OWNERSHIP_QUIET_MS_MAX);
      if (late > 0)
        throw new HealthNote(`the nodes of ${late} ${late === 1 ? 'cluster' : 'clusters'} could not be read in time`);
    },
  };
}

function vpnManagerCheck({ vpnManager }: HealthPorts): HealthCheck {
  if (vpnManager === null) return { name: 'vpn_manager', check: notHere('there is no VPN manager') };
  const once = async (): Promise<void> => {
    const problem = await vpnManager.status(AbortSignal.timeout(VPN_MANAGER_TRY_MS_MAX));
    if (problem !== null) throw new HealthProblem(problem);
  };
  return { name: 'vpn_manager', check: retried(once, VPN_MANAGER_TRIES_MAX, VPN_MANAGER_RETRY_MS) };
}

function vpnClientCheck({ vpnClient }: HealthPorts): HealthCheck {
  return {
    name: 'vpn_client',
    async check() {
      const { isHere, problem, note } = vpnClient.state();
      // Why not is in the log: without rights for an interface, nodes are reached beside the VPN.
      if (!isHere) throw new DoesNotApply('this admin is in no VPN');
      if (problem !== null) throw new HealthProblem(problem);
      // of others' making: this admin is not taken out of service for it
      if (note !== null) throw new HealthNote(note);
    },
  };
}

function proxyServers({ proxies }: HealthPorts): HealthCheck {
  if (proxies === null) return { name: 'proxy_servers', check: notHere('the proxies are switched off') };
  return {
    name: 'proxy_servers',
    check: problemFree(() => {
      const { http, socks5 } = proxies();
      return http && socks5
        ? null
        : `${http ? 'the SOCKS5 proxy does' : socks5 ? 'the HTTP proxy does' : 'the proxies do'} not listen`;
    }),
  };
}

function eventBroker({ broker }: HealthPorts): HealthCheck {
  if (broker === null) return { name: 'event_broker', check: notHere('no event broker is configured') };
  return {
    name: 'event_broker',
    async check() {
      if (broker.isReached()) return;
      const waiting = await broker.backlog(BACKLOG_COUNTED_MAX + 1);
      throw new HealthProblem(
        `${BROKER_PROBLEM}: ${waiting > BACKLOG_COUNTED_MAX ? `over ${BACKLOG_COUNTED_MAX}` : waiting} events wait`,
      );
    },
  };
}

/** Red only where it does not listen: taking the admin out of service would renew no certificate. */
function relayCheck({ relay }: HealthPorts): HealthCheck {
  return {
    name: 'relay',
    check: async () => {
      const judged = judgedRelay(relay());
      if (judged === null) throw new DoesNotApply('this admin has no relay');
      if (judged.problem !== null) throw new HealthProblem(judged.problem);
      if (judged.notes.length > 0) throw new HealthNote(judged.notes.join('; '));
    },
  };
}

/** Never red: behind a balancer that does not look at it, taking the admin out of service would make it worse. */
function tlsCertificate({ certificate }: HealthPorts): HealthCheck {
  if (certificate === null) return { name: 'tls_certificate', check: notHere('this admin serves plain HTTP') };
  return {
    name: 'tls_certificate',
    check: () => {
      const { leftMs, isRefused } = certificate();
      const notes = [
        ...(leftMs <= 0 ? ['the certificate has expired: nobody who checks it comes in'] : []),
        ...(leftMs > 0 && leftMs <= CERTIFICATE_LEFT_MS_MIN
          ? [`the certificate expires in ${Math.floor(leftMs / DAY_MS)} days`]
          : []),
        ...(isRefused ? ['the files hold another pair that cannot be used: the log says why'] : []),
      ];
      return notes.length === 0 ? Promise.resolve() : Promise.reject(new HealthNote(notes.join('; ')));
    },
  };
}

/** Never red: machines stay as they are, and taking the admin out of service would not sign anything. */
function releaseMetadata({ releasesLeftMs }: HealthPorts): HealthCheck {
  return {
    name: 'release_metadata',
    async check() {
      const leftMs = await releasesLeftMs();
      if (leftMs === null) throw new DoesNotApply('no release is published');
      if (leftMs <= 0) throw new HealthNote('what is published of releases has run out: machines do not update');
      if (leftMs <= RELEASES_LEFT_MS_MIN)
        throw new HealthNote(`what is published of releases runs out in ${Math.floor(leftMs / DAY_MS)} days`);
    },
  };
}

/** Passes when the database answers and takes a write. */
export async function takesWrites(rows: Pick<HealthPorts['rows'], 'write'>): Promise<void> {
  if (!(await rows.write()))
    throw new HealthProblem('it answers, and takes no writes: its disk is full, or it is read-only');
}

function notHere(why: string): () => Promise<void> {
  return () => Promise.reject(new DoesNotApply(why));
}

function problemFree(problem: () => string | null): () => Promise<void> {
  return async () => {
    const found = problem();
    if (found !== null) throw new HealthProblem(found);
  };
}
