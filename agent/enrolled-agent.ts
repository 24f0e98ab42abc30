/** The agent of one enrolment, put together: commands, ways in, VPN, metrics, reports, and the session with admins. */
import type { AgentSettings } from '../transport/protocol/agent-settings.ts';
import type { AgentPorts } from '../transport/protocol/agent-description.ts';
import type { PickedPorts } from './free-ports.ts';
import { OwnServers } from './own-servers.ts';
import { startReach, type Reach } from './access/reach.ts';
import { registrationOf } from './config.ts';
import type { DataDirectory } from './data-directory.ts';
import type { Executor } from './execution/executor.ts';
import type { Journal } from './execution/journal/journal.ts';
import { openExecutor } from './execution/open-executor.ts';
import { BEAT_MS } from './execution/starts/start-gate.ts';
import { aliveMs } from '../transport/net/uptime.ts';
import { FactsWatch, LOOK_MS } from './machine/facts-watch.ts';
import { machineFacts } from './machine/facts.ts';
import { stopParts, stopped, type AgentEnd } from './stopping.ts';
import { FirstTrim } from './trim-memory.ts';
import { Reports } from './observability/doctor/reports.ts';
import { diskService, healthReport, type Service } from './observability/health.ts';
import { startVisibility, type Visibility } from './observability/visibility.ts';
import { CLOCK } from './session/clock.ts';
import type { AgentNews } from './session/ports.ts';
import { EXIT_STATUS } from './problem.ts';
import { webSocketDial } from './session/dial.ts';
import { rejoined, type AgentOptions, type Enrolled } from './enrollment/joining.ts';
import { createSessionCounters } from './session/session-counters.ts';
import type { SessionOptions } from './session/session-options.ts';
import { Session } from './session/session.ts';
import type { SharedIdentity } from './session/shared-identity.ts';
import { Rejoining } from './enrollment/rejoining.ts';
import { StoredEnrollment } from './enrollment/stored-enrollment.ts';
import { HealthFile } from './update/health-file.ts';
import { AgentUpdates } from './update/open-updates.ts';
import { startVpn } from './vpn/start-vpn.ts';
import type { AgentVpn } from './vpn/vpn.ts';

/** What it takes of the program. The journal is open, and stays its owner's to close. */
export interface EnrolledAgentOptions extends AgentOptions {
  readonly picked: PickedPorts;
  readonly directory: DataDirectory;
  readonly journal: Journal;
  readonly identity: Enrolled;
  readonly shared: SharedIdentity;
}

/**
 * Parts that need each other are connected as they come: whoever says something to the session before there is one is
 * not heard, as while no admin is reached.
 */
export class EnrolledAgent {
  readonly #options: EnrolledAgentOptions;
  readonly #enrollment: StoredEnrollment;
  readonly #executor: Executor;
  readonly #updates: AgentUpdates;
  readonly #health: HealthFile;
  readonly #trim = new FirstTrim();
  readonly #counters = createSessionCounters();
  readonly #own = new OwnServers();
  readonly #facts = new FactsWatch({
    read: () => machineFacts(this.#sshHostKey),
    say: (facts) => this.#session?.say({ type: 'facts-changed', facts }) ?? false,
  });
  /** Complete once all parts are there: metrics may be asked for as soon as their server listens. */
  readonly #services: Service[] = [];
  readonly #over = Promise.withResolvers<AgentEnd>();
  readonly #rejoining: Rejoining;
  #vpn: AgentVpn | null = null;
  #sshHostKey: string | null = null;
  #session: Session | null = null;
  /** The ports that were got. */
  #ports: Partial<AgentPorts> = {};
  /** Of the admin that welcomed this node last. */
  #adminUrl = '';
  /** Called when the journal holds no result any more that an admin has not confirmed. */
  #allConfirmed: (() => void) | null = null;

  constructor(options: EnrolledAgentOptions) {
    const { config, directory, identity, journal, log, version } = options;
    this.#options = options;
    this.#enrollment = new StoredEnrollment(directory.identity, identity, log);
    this.#executor = openExecutor({
      config,
      directory,
      journal,
      node: identity.node_id,
      log,
      onFinished: (executions) => this.#session?.finished(executions),
      onHeld: () => this.#session?.askOpen(),
    });
    const say = (message: AgentNews) => this.#session?.say(message) ?? false;
    this.#updates = new AgentUpdates({ config, directory, version, say, log });
    this.#health = new HealthFile({
      path: directory.health,
      version,
      services: () => this.#services,
      session: () => this.#session,
      welcomes: () => this.#counters.welcomes,
      nowMs: () => CLOCK.nowMs(),
      log,
    });
    this.#rejoining = new Rejoining({
      join: () => rejoined(options, directory, this.#enrollment.identity),
      joined: (enrolled) => this.#over.resolve({ rejoined: enrolled }),
      log,
    });
  }

  /** Runs until the program is to stop, this machine is the node no more, or it has joined anew. Call once. */
  async run(): Promise<AgentEnd> {
    const { directory, journal, shared, log, signal } = this.#options;
    const executor = this.#executor;
    const reach = await this.#startReach();
    this.#sshHostKey = reach.sshHostKey;
    const vpn = (this.#vpn = await this.#startVpn());
    const reports = this.#createReports();
    const visibility = await this.#startVisibility(reach, reports);
    this.#ports = { ...reach.ports, ...visibility.ports };
    this.#services.push(
      { name: 'identity', problem: () => shared.problem },
      { name: 'journal', problem: () => journal.problem },
      executor.service,
      diskService(directory.path),
      ...reach.services,
      ...visibility.services,
      ...(vpn?.services ?? []),
    );
    const session = (this.#session = this.#createSession(reach, reports));

    executor.recover();
    this.#beat();
    const beats = setInterval(() => this.#beat(), BEAT_MS).unref();
    reports.listening(visibility.apiPlace);
    const looks = setInterval(() => this.#facts.look(), LOOK_MS).unref();
    await this.#updates.begin();
    session.start();
    const end = await Promise.race([this.#over.promise, stopped(signal, journal)]);
    clearInterval(beats);
    clearInterval(looks);
    const whenConfirmed = (act: () => void) => {
      this.#allConfirmed = act;
    };
    const updates = this.#updates;
    await stopParts({ journal, executor, reach, visibility, reports, vpn, session, updates, whenConfirmed, log }, end);
    this.#health.close();
    return end;
  }

  #beat(): void {
    this.#executor.beat();
    this.#health.look();
  }

  #startReach(): Promise<Reach> {
    const { config, picked, directory, outbound, log } = this.#options;
    return startReach({
      config,
      outbound,
      picked,
      own: this.#own,
      directory,
      log,
      token: this.#enrollment.token,
      proxyPassword: this.#enrollment.proxyPassword,
      clock: CLOCK,
      recording: () => this.#enrollment.recording,
      askAdmin: (attempt, username, credential) => this.#session?.verifySsh(attempt, username, credential) ?? false,
      vpnWay: () => this.#vpn?.wayToGateway() ?? null,
    });
  }

  #startVpn(): Promise<AgentVpn | null> {
    const { config, directory, log } = this.#options;
    return startVpn({
      config,
      directory,
      node: this.#enrollment.node,
      clusterName: () => this.#enrollment.clusterName,
      adminUrls: () => this.#adminUrls(),
      clock: CLOCK,
      log,
      say: (message) => this.#session?.say(message) ?? false,
    });
  }

  #createReports(): Reports {
    const { config, version, directory, outbound, journal, log } = this.#options;
    return new Reports({
      config,
      outbound,
      version,
      directory,
      token: this.#enrollment.token,
      clock: CLOCK,
      log,
      adminUrls: () => this.#adminUrls(),
      relayMapUrls: () => this.#enrollment.settings.derp_map_urls,
      services: () => this.#services,
      journal: () => journal.counts(),
      ports: () => this.#ports,
      isLive: () => this.#session?.isLive ?? false,
      refusal: () => this.#session?.refusal ?? null,
    });
  }

  #startVisibility(reach: Reach, reports: Reports): Promise<Visibility> {
    const { config, picked, version, journal, log } = this.#options;
    return startVisibility({
      config,
      picked,
      own: this.#own,
      token: this.#enrollment.token,
      log,
      vpn: this.#vpn,
      diagnose: () => reports.diagnose(),
      sshSessions: () => reach.sshSessions(),
      sources: {
        version,
        idType: config.AGENT_ID_TYPE,
        journal: () => journal.counts(),
        shims: () => this.#executor.shims,
        session: () => this.#counters,
        adminUrls: () => this.#adminUrls().length,
        services: () => this.#services,
        updates: () => this.#updates.counters,
        ...reach.counts,
      },
    });
  }

  #createSession(reach: Reach, reports: Reports): Session {
    const { journal, log } = this.#options;
    return new Session(this.#sessionOptions(reach, reports), {
      journal,
      runner: this.#executor,
      reach: reach.session,
      ...(this.#vpn !== null && { vpn: this.#vpn.session }),
      updates: this.#updates,
      report: () => healthReport(this.#services),
      facts: () => this.#facts.greeting(),
      counters: this.#counters,
      dial: webSocketDial({}, this.#options.outbound),
      clock: CLOCK,
      aliveMs,
      random: Math.random,
      log,
    });
  }

  #sessionOptions(reach: Reach, reports: Reports): SessionOptions {
    const { config, version, shared } = this.#options;
    return {
      node: this.#enrollment.node,
      token: this.#enrollment.token,
      registration: registrationOf(config, version, this.#ports),
      adminUrls: () => this.#adminUrls(),
      listedCount: () => config.ADMIN_URLS?.length ?? this.#enrollment.listedCount,
      onSettings: (settings, clusterName, reachedBy) => this.#configured(settings, clusterName, reachedBy),
      onConfirmed: () => this.#confirmed(),
      onLive: (url) => {
        this.#live(url);
        reach.connected(url);
        reports.connected(url);
      },
      onReplaced: () => shared.lost(),
      onTaken: () => shared.taken(),
      onRevoked: (wasDeleted) => this.#revoked(wasDeleted),
      onUnknown: (wasDeleted) => this.#unknown(wasDeleted),
    };
  }

  #adminUrls(): readonly string[] {
    return this.#options.config.ADMIN_URLS ?? this.#enrollment.adminUrls;
  }

  #configured(settings: AgentSettings, clusterName: string | null, reachedBy: string | null): void {
    this.#enrollment.keep(settings, clusterName, reachedBy);
    if (clusterName === null) this.#vpn?.configured(settings, this.#adminUrl); // else the welcome tells it
  }

  #live(url: string): void {
    this.#enrollment.noteDeletion(false);
    this.#adminUrl = url;
    this.#vpn?.configured(this.#enrollment.settings, url);
    this.#trim.connected();
  }

  #confirmed(): void {
    if (this.#allConfirmed !== null && this.#options.journal.finished().length === 0) this.#allConfirmed();
  }

  #revoked(wasDeleted: boolean): void {
    this.#enrollment.noteDeletion(wasDeleted);
    this.#over.resolve(EXIT_STATUS.revoked);
  }

  #unknown(wasDeleted: boolean): void {
    if (wasDeleted) this.#enrollment.noteDeletion(true);
    else this.#rejoining.begin();
  }
}
