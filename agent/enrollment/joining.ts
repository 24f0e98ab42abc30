/** How this machine becomes a node, and how it becomes one again where no admin knows it any more. */
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeEnrollmentBlob, recoveryKeyNode } from '../../transport/protocol/enrollment.ts';
import { VPN_ALIASES_MAX } from '../../transport/protocol/vpn.ts';
import type { EnrollAnswer, EnrollmentBlob, EnrollRequest } from '../../transport/protocol/enrollment.ts';
import { CLEAR_TEXT_HINT, clearTextAdmins } from './clear-text.ts';
import { registrationOf } from '../config.ts';
import type { AgentConfig, GivenConfig } from '../config.ts';
import type { DataDirectory } from '../data-directory.ts';
import { enroll, enrollOnce, type Enrolment } from './enroll.ts';
import { newIdentity, storeIdentity } from './identity.ts';
import type { Identity } from './identity.ts';
import { knownUrls } from './known-urls.ts';
import { removeJournal } from '../execution/journal/open-journal.ts';
import type { Log } from '../../transport/net/log.ts';
import { postJson, type HttpAnswer } from '../outbound/http-exchange.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { AgentProblem, EXIT_STATUS } from '../problem.ts';
import { machineFacts } from '../machine/facts.ts';
import { publicHostKey } from '../access/ssh/host-key.ts';

/** What the program gives its agent. */
export interface ProgramOptions {
  readonly config: GivenConfig;
  readonly version: string;
  readonly log: Log;
  /** Aborted by SIGTERM or SIGINT. */
  readonly signal: AbortSignal;
  /**
   * Called once the data directory is open and read: until then a disk that hangs holds this process, and nothing but
   * the system's own way of ending it helps.
   */
  readonly diskAnswered: () => void;
}

/** The same once its ports are decided. */
export interface AgentOptions extends ProgramOptions {
  readonly config: AgentConfig;
  /** How it reaches admins. */
  readonly outbound: Outbound;
}

/** An agent that is enrolled: everything of it that must not be there before. */
export type Enrolled = Identity & { readonly enrollment: EnrollAnswer };

/**
 * The identity that was `stored`, or a new one that an admin has let in. Throws an `AgentProblem` on a refusal that
 * will not change.
 */
export async function enrolledIdentity(
  options: AgentOptions,
  directory: DataDirectory,
  stored: Identity | null,
): Promise<Enrolled> {
  const { config, log, signal } = options;
  const recovered = config.RECOVERY_KEY === undefined ? null : recoveryKeyNode(config.RECOVERY_KEY);
  if (stored !== null && isEnrolled(stored)) {
    if (recovered !== null && recovered !== stored.node_id)
      log.warn(
        { node: stored.node_id },
        'RECOVERY_KEY is for another node than this machine is, and is not looked at: stop the agent and run `edge-agent leave` first, to make it that one',
      );
    tellOfWays(config.ADMIN_URLS ?? knownUrls(stored.enrollment.admin_urls, stored.reached_by), options);
    return stored;
  }
  const { key, blob } = keyOf(config);
  tellOfWays(config.ADMIN_URLS ?? blob.admin_urls, options);
  if (config.AGENT_ID_TYPE === 'random') removeJournal(directory);
  // The key brings the identity of its node, also after a first start without it that let nobody in.
  const identity =
    stored === null || (recovered !== null && recovered !== stored.node_id)
      ? newIdentity(recovered)
      : withSecret(stored);
  storeIdentity(directory.identity, identity);
  log.info({ node: identity.node_id, cluster: blob.cluster_name }, 'Enrolling');
  const entry = await enroll({
    request: requestOf(options, directory, identity, key),
    adminUrls: config.ADMIN_URLS ?? blob.admin_urls,
    log,
    random: Math.random,
    post: posting(options),
    sleep: (ms) => sleep(ms, undefined, { signal }),
  });
  const enrolled = joined(directory, identity, entry, blob.admin_urls);
  log.info({ node: enrolled.node_id, cluster: enrolled.enrollment.cluster_name }, 'Enrolled');
  warnOfTakenAliases(entry.answer, log);
  return enrolled;
}

/**
 * Joins again with the id that this machine has, for admins whose database was set back to before it joined: one try.
 * Null when it did not succeed. Nothing is given up for it: what is stored stays until an admin lets it in. A node that
 * was deleted on purpose is left alone.
 */
export async function rejoined(
  options: AgentOptions,
  directory: DataDirectory,
  identity: Enrolled,
): Promise<Enrolled | null> {
  const { config, log } = options;
  const key = config.ENROLLMENT_KEY;
  const blob = key === undefined ? null : decodeEnrollmentBlob(key);
  if (identity.was_deleted === true) return null;
  if (key === undefined || blob === null) {
    log.error(
      { node: identity.node_id },
      'No admin knows this node, and it has no ENROLLMENT_KEY to join again with: give it a new one, and it goes on under its id',
    );
    return null;
  }
  const secured = withSecret(identity);
  if (secured !== identity) storeIdentity(directory.identity, secured);
  const adminUrls = config.ADMIN_URLS ?? knownUrls(identity.enrollment.admin_urls, identity.reached_by);
  const entry = await enrollOnce({
    request: requestOf(options, directory, secured, key),
    adminUrls,
    post: posting(options),
  });
  if (typeof entry === 'string') {
    log.error(
      { node: identity.node_id },
      `No admin knows this node, and it could not join again with its ENROLLMENT_KEY: ${entry}. It is tried again from time to time`,
    );
    return null;
  }
  const enrolled = joined(directory, secured, entry, identity.enrollment.admin_urls);
  log.warn(
    {
      node: enrolled.node_id,
      cluster: enrolled.enrollment.cluster_name,
    },
    'No admin knew this node any more; it has joined again with its ENROLLMENT_KEY and goes on under its id',
  );
  warnOfTakenAliases(entry.answer, log);
  return enrolled;
}

/** Before anything goes there: what is sent first is a key or a token. */
function tellOfWays(adminUrls: readonly string[], { outbound, log }: Pick<AgentOptions, 'outbound' | 'log'>): void {
  for (const proxy of new Set(adminUrls.map((url) => outbound.proxyFor(url)?.origin)))
    if (proxy !== undefined) log.info({}, `Admins are reached through the proxy ${proxy}`);
  const admins = clearTextAdmins(adminUrls);
  if (admins.length > 0)
    log.warn(
      {},
      `What goes to admins is not encrypted, the key and the token of this node among it: ${admins.join(', ')}. ${CLEAR_TEXT_HINT}`,
    );
}

/** A name that was given twice, or that is one too many, is no reason to keep a machine out. */
function warnOfTakenAliases(
  { aliases_taken: taken = [], node_id: node, cluster_name: cluster }: EnrollAnswer,
  log: Log,
): void {
  if (taken.length > 0)
    log.warn(
      { node, cluster },
      `AGENT_ALIASES names what other machines of ${cluster} have, or more than the ${VPN_ALIASES_MAX} that one may have: ${taken.join(', ')}. This one joined without; \`edge alias add ${node} NAME\` gives it another name`,
    );
}

function isEnrolled(identity: Identity): identity is Enrolled {
  return identity.enrollment !== null;
}

function keyOf(config: AgentConfig): { readonly key: string; readonly blob: EnrollmentBlob } {
  const key = config.ENROLLMENT_KEY;
  const blob = key === undefined ? null : decodeEnrollmentBlob(key);
  if (key !== undefined && blob !== null) return { key, blob };
  throw new AgentProblem(
    'ENROLLMENT_KEY is not set and this machine is not enrolled: it should be an enrollment key as an admin made it',
    EXIT_STATUS.badSetting,
  );
}

function posting({ outbound }: AgentOptions): (url: string, body: unknown) => Promise<HttpAnswer> {
  return (url, body) => postJson(url, body, { agent: outbound.agentFor(url) });
}

/** An identity of before machine secrets gets one. */
function withSecret<I extends Identity>(identity: I): I {
  return identity.machine_secret === undefined
    ? { ...identity, machine_secret: newIdentity(null).machine_secret }
    : identity;
}

function requestOf(
  { config, version }: AgentOptions,
  { sshHostKey }: DataDirectory,
  identity: Identity,
  key: string,
): EnrollRequest {
  const recoveryKey = config.RECOVERY_KEY;
  return {
    enrollment_key: key,
    ...(recoveryKey !== undefined &&
      recoveryKeyNode(recoveryKey) === identity.node_id && { recovery_key: recoveryKey }),
    ...(identity.machine_secret !== undefined && { machine_secret: identity.machine_secret }),
    node_id: identity.node_id,
    ...registrationOf(config, version),
    ...(config.AGENT_ALIASES !== undefined && { aliases: config.AGENT_ALIASES }),
    facts: machineFacts(config.AGENT_SSH_ENABLED ? publicHostKey(sshHostKey) : null),
    ...(config.AGENT_LABELS !== undefined && { labels: config.AGENT_LABELS }),
  };
}

function joined(
  directory: DataDirectory,
  identity: Identity,
  { answer, adminUrl }: Enrolment,
  dialledUrls: readonly string[],
): Enrolled {
  const enrolled = {
    ...identity,
    node_id: answer.node_id,
    enrollment: { ...answer, admin_urls: answer.admin_urls.length > 0 ? answer.admin_urls : [...dialledUrls] },
    reached_by: adminUrl,
  };
  storeIdentity(directory.identity, enrolled);
  return enrolled;
}
