/** The resident program, put together: directory, identity, journal, executor, session. */
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { DELETED_REASON } from '../transport/protocol/close-codes.ts';
import type { AgentSettings } from '../transport/protocol/frames.ts';
import type { SshRecordingSettings } from '../transport/protocol/ssh.ts';
import { startTimer } from '../transport/net/streams/timer.ts';
import { registrationOf } from './config.ts';
import type { AgentConfig } from './config.ts';
import { openDataDirectory } from './data-directory.ts';
import type { DataDirectory } from './data-directory.ts';
import { webSocketDial } from './session/dial.ts';
import { Executor } from './execution/executor.ts';
import type { ExecutorOptions } from './execution/executor-options.ts';
import { withFreePorts, type PickedPorts } from './access/free-ports.ts';
import { createReports } from './observability/doctor/reports.ts';
import { diskService, healthReport } from './observability/health.ts';
import type { Service } from './observability/health.ts';
import { readIdentity, storeIdentity } from './identity.ts';
import { enrolledIdentity, noteDeletion, rejoined } from './session/joining.ts';
import type { Enrolled } from './session/joining.ts';
import type { Journal } from './execution/journal.ts';
import { Ledger } from './execution/ledger.ts';
import { leaveVpn, startVpn } from './vpn/vpn.ts';
import { scriptEnvironment } from './execution/exec-shims.ts';
import { trimMemory } from './memory.ts';
import { openJournal, removeJournal } from './execution/open-journal.ts';
import type { SessionClock } from './ports.ts';
import type { Log } from '../transport/net/log.ts';
import { EXIT_STATUS } from './problem.ts';
import { startReach } from './access/reach.ts';
import type { ExitStatus } from './problem.ts';
import { createSessionCounters } from './session/session-counters.ts';
import { Session } from './session/session.ts';
import { pipesDirectory } from './access/ssh/pipes.ts';
import { BEAT_MS } from './execution/start-gate.ts';
import { aliveMs, machineTimeline } from './execution/timeline.ts';
import { startVisibility } from './observability/visibility.ts';

/**
 * After a signal, results that the admin has not confirmed are waited for this long at most, in ms. The journal keeps
 * the rest.
 */
export const GOODBYE_MS_MAX = 10_000;

/**
 * Commands that do not end, or whose ends the disk does not take, are left to the next start after this, in ms: TERM,
 * KILL and what follows take 10 s at most.
 */
const CLOSE_MS_MAX = 12_000;

/** The first session is followed by whatever waited for this node; memory is trimmed after that, in ms. */
const TRIM_AFTER_MS = 2_000;

/** An admin that says nothing of it has nothing recorded. */
const NOTHING_RECORDED: SshRecordingSettings = { mode: 'off', bytes_max: 1_024, ms_max: 1_000 };

/** An admin let this machine in again: everything that holds the old credentials starts anew. */
interface Rejoined {
  readonly rejoined: Enrolled;
}

/** What the program gives its agent. */
export interface AgentOptions {
  readonly config: AgentConfig;
  readonly version: string;
  readonly log: Log;
  /** Aborted by SIGTERM or SIGINT. */
  readonly signal: AbortSignal;
}

/**
 * Runs until `signal` or until the admin revokes the node. Resolves with the exit status; throws an `AgentProblem` for
 * what stops it at once.
 */
export async function runAgent(given: AgentOptions): Promise<ExitStatus> {
  const options = { ...given, ...(await withFreePorts(given.config)) };
  const { config, log, signal } = options;
  const directory = openDataDirectory(config.AGENT_DATA_DIR);
  try {
    let identity = await enrolledIdentity(options, directory);
    const ledger = new Ledger(directory.ledger, log);
    const journal = openJournal(directory.journal, machineTimeline(), log, ledger);
    try {
      for (;;) {
        const end = await serve(options, directory, identity, journal);
        if (typeof end === 'number') return end;
        identity = end.rejoined;
      }
    } finally {
      journal.close();
      ledger.close();
    }
  } catch (error) {
    if (signal.aborted && (error as Error).name === 'AbortError') return EXIT_STATUS.ok;
    throw error;
  } finally {
    directory.release();
  }
}

/**
 * Ends what runs and removes everything that this agent keeps. The node stays known to the admins until somebody
 * deletes it.
 */
export async function leave(options: AgentOptions): Promise<ExitStatus> {
  const { config, log } = options;
  const directory = openDataDirectory(config.AGENT_DATA_DIR);
  const identity = readIdentity(directory.identity);
  const ledger = new Ledger(directory.ledger, log);
  const journal = openJournal(directory.journal, machineTimeline(), log, ledger);
  const executor = newExecutor(options, directory, journal, identity?.node_id ?? '', () => {});
  executor.recover();
  await executor.close();
  journal.close();
  ledger.close();
  if (identity !== null) await leaveVpn(directory, identity.node_id, log);
  for (const path of [
    directory.identity,
    directory.apiPort,
    directory.shims,
    directory.sshHostKey,
    pipesDirectory(directory.sshHostKey),
    directory.sshRecordings,
    directory.sshUnanswered,
    directory.vpnKeys,
    directory.vpnPicture,
    directory.relayMap,
  ])
    rmSync(path, { recursive: true, force: true });
  removeJournal(directory);
  directory.release();
  log.info(
    { ...(identity !== null && { node: identity.node_id }) },
    identity === null ? 'There was nothing to leave' : 'This machine has left; delete its node at the admin as well',
  );
  return EXIT_STATUS.ok;
}

async function serve(
  options: AgentOptions & { readonly picked: PickedPorts },
  directory: DataDirectory,
  identity: Enrolled,
  journal: Journal,
): Promise<ExitStatus | Rejoined> {
  const { config, picked, log, signal, version } = options;
  let current = identity;
  let confirmed = () => {};
  let trim: NodeJS.Timeout | null = null;
  let adminUrl = '';
  const over = Promise.withResolvers<ExitStatus | Rejoined>();
  let isRejoining = false;

  const executor = newExecutor(
    options,
    directory,
    journal,
    identity.node_id,
    (executions) => session.finished(executions),
    () => session.askOpen(),
  );
  const reach = await startReach({
    config,
    picked,
    directory,
    log,
    token: identity.enrollment.api_token,
    proxyPassword: identity.enrollment.proxy_password,
    clock: systemClock(),
    recording: () => current.enrollment.settings.ssh_recording ?? NOTHING_RECORDED,
    askAdmin: (attempt, username, credential) => session.verifySsh(attempt, username, credential),
    vpnWay: () => vpn?.wayToGateway() ?? null,
  });
  const adminUrls = () => config.ADMIN_URLS ?? current.enrollment.admin_urls;
  const joinAgain = async () => {
    const found = await rejoined(options, directory, current);
    if (found !== null) over.resolve({ rejoined: found });
  };
  const counters = createSessionCounters();
  const vpn = startVpn({
    config,
    directory,
    node: identity.node_id,
    clusterName: () => current.enrollment.cluster_name,
    adminUrls,
    clock: systemClock(),
    log,
    say: (word) => session.sayOfVpn(word),
  });
  const services: Service[] = []; // complete below: metrics may be asked for as soon as their server listens
  const reports = createReports({
    config,
    version,
    directory,
    token: identity.enrollment.api_token,
    clock: systemClock(),
    log,
    adminUrls,
    relayMapUrls: () => current.enrollment.settings.derp_map_urls,
    services: () => services,
    journal: () => journal.counts(),
    ports: () => ({ ...reach.ports, ...visibility.ports }),
    isLive: () => session.isLive,
    refusal: () => session.refusal,
  });
  const visibility = await startVisibility({
    config,
    picked,
    token: identity.enrollment.api_token,
    log,
    vpn,
    diagnose: () => reports.diagnose(),
    sources: {
      version,
      idType: config.AGENT_ID_TYPE,
      journal: () => journal.counts(),
      shims: () => executor.shims,
      session: () => counters,
      adminUrls: () => adminUrls().length,
      services: () => services,
      ...reach.counts,
    },
  });
  services.push(
    { name: 'journal', problem: () => journal.problem },
    { name: 'runner', problem: () => executor.problem },
    diskService(directory.path),
    ...reach.services,
    ...visibility.services,
    ...(vpn?.services ?? []),
  );
  const session: Session = new Session(
    {
      node: identity.node_id,
      token: identity.enrollment.api_token,
      registration: registrationOf(config, version, { ...reach.ports, ...visibility.ports }),
      adminUrls,
      onSettings: (settings, clusterName) => {
        current = keepSettings(directory, current, settings, clusterName, log);
        if (clusterName === null) vpn?.configured(settings, adminUrl, false);
      },
      onConfirmed: () => confirmed(),
      onLive: (url) => {
        current = noteDeletion(directory, current, false, log);
        adminUrl = url;
        vpn?.configured(current.enrollment.settings, url, true);
        trim ??= setTimeout(trimMemory, TRIM_AFTER_MS).unref();
        reach.connected(url);
        reports.connected(url);
      },
      onRevoked: (reason) => {
        current = noteDeletion(directory, current, reason === DELETED_REASON, log);
        over.resolve(EXIT_STATUS.revoked);
      },
      onUnknown: (wasDeleted) => {
        if (wasDeleted) current = noteDeletion(directory, current, true, log);
        if (wasDeleted || isRejoining) return;
        isRejoining = true;
        void joinAgain()
          .catch((error: unknown) => log.error({}, (error as Error).message))
          .finally(() => {
            isRejoining = false;
          });
      },
    },
    {
      journal,
      runner: executor,
      reach: reach.session,
      ...(vpn !== null && { vpn: vpn.session }),
      report: () => healthReport(services),
      counters,
      dial: webSocketDial(),
      clock: systemClock(),
      aliveMs,
      random: Math.random,
      log,
    },
  );

  executor.recover();
  executor.beat();
  const beats = setInterval(() => executor.beat(), BEAT_MS).unref();
  reports.listening(visibility.ports.http_port);
  session.start();
  const status = await Promise.race([over.promise, aborted(signal)]);
  if (status === EXIT_STATUS.ok) log.info({}, 'Stopping: running commands are ended and reported');

  clearInterval(beats);
  const deadline = sleep(GOODBYE_MS_MAX);
  visibility.close();
  reports.close();
  // Joined again: the next round takes up what runs, as after a restart.
  await Promise.race([
    Promise.all([
      typeof status === 'number' ? executor.close({ keepsWaiting: status === EXIT_STATUS.revoked }) : executor.detach(),
      reach.close(),
    ]),
    sleep(CLOSE_MS_MAX),
  ]);
  if (session.isLive && journal.finished().length > 0) {
    await Promise.race([
      deadline,
      new Promise<void>((resolve) => {
        confirmed = () => {
          if (journal.finished().length === 0) resolve();
        };
      }),
    ]);
  }
  await vpn?.close({ isKept: status !== EXIT_STATUS.revoked });
  session.stop();
  const kept = journal.holding().length;
  if (kept > 0) log.info({ executions: kept }, 'The next start goes on with what is left');
  return status;
}

function newExecutor(
  options: AgentOptions,
  directory: DataDirectory,
  journal: Journal,
  node: string,
  onFinished: ExecutorOptions['onFinished'],
  onHeld: () => void = () => {},
): Executor {
  const { config, log } = options;
  return new Executor({
    journal,
    timeline: machineTimeline(),
    log,
    directory: directory.shims,
    concurrency: config.COMMAND_EXECUTION_CONCURRENCY,
    outputBytesMax: config.COMMAND_OUTPUT_MAX_BYTES,
    environment: scriptEnvironment(node, process.env),
    onFinished,
    onHeld,
  });
}

/** Settings that changed go to the disk, so that the next start finds the admins that are there by then. */
function keepSettings(
  directory: DataDirectory,
  current: Enrolled,
  settings: AgentSettings,
  clusterName: string | null,
  log: Log,
): Enrolled {
  const adminUrls = settings.admin_urls.length > 0 ? settings.admin_urls : current.enrollment.admin_urls;
  const enrollment = {
    ...current.enrollment,
    settings,
    admin_urls: adminUrls,
    cluster_name: clusterName ?? current.enrollment.cluster_name,
  };
  if (JSON.stringify(enrollment) === JSON.stringify(current.enrollment)) return current;
  const next = { ...current, enrollment };
  try {
    storeIdentity(directory.identity, next);
  } catch (error) {
    log.warn({}, (error as Error).message);
  }
  return next;
}

function systemClock(): SessionClock {
  return {
    nowMs: () => performance.now(),
    after: (ms, act) => startTimer(ms, act, { isHolding: true }),
  };
}

async function aborted(signal: AbortSignal): Promise<ExitStatus> {
  if (!signal.aborted)
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  return EXIT_STATUS.ok;
}
