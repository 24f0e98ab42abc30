/** Enrolment as rows: the use of the key, the place in the cluster and the node are one transaction (E1, E2). */
import { timingSafeEqual } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { displayName } from '../../actors/node/display-name.ts';
import { KEY_REFUSALS, WRONG_RECOVERY_KEY } from '../../actors/cluster/enrollment.ts';
import type { DomainEvent } from '../../actors/event-catalogue.ts';
import type { Refusal } from '../../actors/refusal.ts';
import { NEVER_CONNECTED } from '../../actors/node/status-reason.ts';
import type { NodeEnrolled } from '../../actors/writes.ts';
import { VPN_ALIASES_MAX } from '../../transport/protocol/vpn.ts';
import { Alias, DeletedNode, Node, RecoveryKey } from '../entities/node.ts';
import { refuseBeyondRoom } from './capacity.ts';
import { writeFacts } from './node-rows.ts';
import { setMember } from './vpn-rows.ts';
import { GuardRefused } from './written.ts';
import type { Written } from './written.ts';

type VerifiedEvent = DomainEvent<'edge.enrollment_key.verified'>;
type KeyProblem = keyof typeof KEY_REFUSALS;

/** Of a member whose agent was not connected yet. */
const NOWHERE = { listenPort: null, endpoints: [], observed: null, isStable: null, relayRegion: null };

/** The key or the cluster had no room left when it came to the row. The attempt is an event of its own. */
export class EnrollmentRefused extends GuardRefused {
  readonly event: VerifiedEvent;
  /**
   * `usesRemaining` as the row has it: nothing was spent. A key that is gone is an invalid one, of which nothing is
   * told.
   */
  constructor(problem: KeyProblem, verified: VerifiedEvent, usesRemaining: number | null) {
    super({ code: problem, message: KEY_REFUSALS[problem] });
    const nothing = problem === 'invalid_key' ? { enrollment_key_id: null, cluster_name: null, name: null } : {};
    this.event = {
      ...verified,
      data: { ...verified.data, ...nothing, uses_remaining: usesRemaining, result: problem },
    };
  }
}

/** Enrols, or throws why not. */
export async function enrollNode(
  em: EntityManager,
  write: NodeEnrolled,
  events: readonly DomainEvent[],
): Promise<Written> {
  const verified = events.find((event) => event.type === 'edge.enrollment_key.verified');
  if (write.existing.type === 'none') await refuseDeleted(em, write.node);
  // The node first: of several with the same recovery key or id, one holds its row and wins.
  if (write.existing.type === 'recovery') await consumeRecoveryKey(em, write, write.existing.keyHash);
  const usesRemaining = write.spendsUse && verified !== undefined ? await spendUse(em, write, verified) : undefined;
  if (write.existing.type === 'none') await refuseOvertaken(em, write);
  if (write.existing.type === 'none' && verified !== undefined)
    await takePlace(em, write, verified, usesRemaining ?? null);
  await writeNode(em, write);
  if (write.facts !== null || write.existing.type !== 'none') await writeFacts(em, write.node, write.facts);
  if (write.existing.type === 'none') await writeLabels(em, write);
  if (write.wireguardPublicKey !== null)
    await setMember(
      em,
      write.node,
      write.cluster,
      { publicKey: write.wireguardPublicKey, ...NOWHERE },
      new Date(write.atMs),
    );
  await endSelfUpdates(em, write);
  const name = await takeAliases(em, write);
  if (write.existing.type === 'none') await refuseBeyondRoom(em, write.cluster, null);
  // Only the rows know how many uses are left when several agents come at once, and what the node is called.
  return {
    notices: [],
    events: events.map((event): DomainEvent => {
      if (event.type === 'edge.node.registered' || event.type === 'edge.node.reregistered')
        return { ...event, data: { ...event.data, name } };
      if (event.type === 'edge.node.version_changed') return { ...event, data: { ...event.data, name } };
      if (event !== verified || usesRemaining === undefined) return event;
      return { ...verified, data: { ...verified.data, uses_remaining: usesRemaining } };
    }),
  };
}

/**
 * Those that no other node of the cluster has, as far as there is room: a name that was given twice, or that is one too
 * many, keeps no machine out. In the order of their names, so that two machines that bring the same ones do not wait
 * for each other. What the node is called then.
 */
async function takeAliases(em: EntityManager, { aliases, node, cluster, facts, atMs }: NodeEnrolled): Promise<string> {
  const at = new Date(atMs);
  const namesOf = async (): Promise<{ name: string }[]> =>
    em.execute<{ name: string }[]>('select name from alias where node_id = ?', [node]);
  const own = new Set((await namesOf()).map(({ name }) => name));
  let room = VPN_ALIASES_MAX - own.size;
  const names = aliases.map(({ name }) => name);
  if (names.length > 0) await em.nativeDelete(Alias, { node, name: { $in: names } });
  for (const { id, name } of aliases.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    if (!own.has(name) && room <= 0) continue;
    const made = await em.execute<unknown[]>(
      'insert into alias (id, node_id, cluster_id, name, inserted_at, updated_at) values (?, ?, ?, ?, ?, ?) on conflict on constraint alias_name_taken do nothing returning id',
      [id, node, cluster, name, at, at],
    );
    if (!own.has(name)) room -= made.length;
  }
  return displayName({ id: node, facts }, await namesOf());
}

/** A trigger has made their row with that of the node. */
async function writeLabels(em: EntityManager, { node, labels }: NodeEnrolled): Promise<void> {
  if (Object.keys(labels).length === 0) return;
  await em.execute('update node_labels set labels = ?::jsonb where node_id = ?', [JSON.stringify(labels), node]);
}

/** Somebody deleted it on purpose: a machine that comes back with a key at hand does not undo that. */
async function refuseDeleted(em: EntityManager, node: string): Promise<void> {
  if ((await em.count(DeletedNode, { id: node })) > 0)
    throw new GuardRefused({
      code: 'conflict',
      message:
        'The node of this id was deleted. `edge-agent leave` gives the machine a new identity, with which it can enrol again.',
    });
}

/**
 * The same machine's try before this one was stored after this one was sent: the next one finds its node, and is
 * answered as a retry. Asked behind the row of its enrolment key, or of its recovery key, which the other try held
 * until it was stored.
 */
async function refuseOvertaken(em: EntityManager, { node, machineSecretHash }: NodeEnrolled): Promise<void> {
  if (machineSecretHash === null) return;
  const rows = await em.execute<{ machine_secret_hash: Uint8Array | null }[]>(
    'select machine_secret_hash from node where id = ?',
    [node],
  );
  const stored = rows[0]?.machine_secret_hash;
  if (stored && stored.length === machineSecretHash.length && timingSafeEqual(stored, machineSecretHash))
    throw new GuardRefused(OVERTAKEN);
}

const OVERTAKEN: Refusal = {
  code: 'service_unavailable',
  message: 'This machine was enrolled a moment ago. Try again shortly.',
  retryAfterSeconds: 1,
};

/**
 * This is another agent than the one that was to be updated, or was: it is never triggered for what was asked before,
 * and its version says nothing of it.
 */
async function endSelfUpdates(em: EntityManager, { node }: NodeEnrolled): Promise<void> {
  await em.execute(
    `update self_update_node set state = case when state in ('waiting', 'due') then 'skipped' else state end, error = 'the node was enrolled anew', judged_at = clock_timestamp(), finished_at = clock_timestamp()
     where node_id = ? and finished_at is null`,
    [node],
  );
}

async function consumeRecoveryKey(em: EntityManager, write: NodeEnrolled, keyHash: Uint8Array): Promise<void> {
  // in the order of all that touch both, or two of them would wait for each other
  await em.execute('select from node where id = ? for update', [write.node]);
  const rows = await em.execute<{ key_hash: Uint8Array }[]>(
    'select key_hash from recovery_key where node_id = ? and cluster_id = ? for update',
    [write.node, write.cluster],
  );
  const stored = rows[0]?.key_hash;
  if (stored === undefined || !timingSafeEqual(stored, keyHash)) {
    await refuseOvertaken(em, write);
    throw new GuardRefused({ code: 'conflict', message: WRONG_RECOVERY_KEY });
  }
  await em.nativeDelete(RecoveryKey, { node: write.node });
}

/** Returns the uses left, null for unlimited. */
async function spendUse(em: EntityManager, write: NodeEnrolled, verified: VerifiedEvent): Promise<number | null> {
  const rows = await em.execute<{ uses_remaining: number | null }[]>(
    'update enrollment_key set uses_remaining = uses_remaining - 1, last_used_at = ?, updated_at = ? where id = ? and cluster_id = ? and (uses_remaining is null or uses_remaining > 0) and (expired_at is null or expired_at > clock_timestamp()) returning uses_remaining',
    [new Date(write.atMs), new Date(write.atMs), write.enrollmentKey, write.cluster],
  );
  if (rows[0] !== undefined) return rows[0].uses_remaining;
  if (write.existing.type === 'none') await refuseOvertaken(em, write);
  const [key] = await em.execute<{ uses_remaining: number | null }[]>(
    'select uses_remaining from enrollment_key where id = ?',
    [write.enrollmentKey],
  );
  throw new EnrollmentRefused(
    key === undefined ? 'invalid_key' : key.uses_remaining === 0 ? 'key_spent' : 'key_expired',
    verified,
    key?.uses_remaining ?? null,
  );
}

async function takePlace(
  em: EntityManager,
  write: NodeEnrolled,
  verified: VerifiedEvent,
  usesRemaining: number | null,
): Promise<void> {
  const rows = await em.execute<unknown[]>(
    'update cluster set node_count = node_count + 1 where id = ? and (node_limit is null or node_count < node_limit) returning id',
    [write.cluster],
  );
  // The use that was just spent is given back with the rest of the transaction.
  if (rows.length === 0)
    throw new EnrollmentRefused(
      'node_limit_reached',
      verified,
      usesRemaining === null ? null : usesRemaining + Number(write.spendsUse),
    );
}

async function writeNode(em: EntityManager, write: NodeEnrolled): Promise<void> {
  const at = new Date(write.atMs);
  const { ports } = write;
  const fields = {
    enrollmentKey: write.enrollmentKey,
    version: write.version,
    idType: write.idType,
    httpPort: ports.http_port,
    sshPort: ports.ssh_port,
    hostMetricsPort: ports.host_metrics_port,
    wireguardMetricsPort: ports.wireguard_metrics_port,
    httpProxyPort: ports.http_proxy_port,
    socks5ProxyPort: ports.socks5_proxy_port,
    selfUpdateEnabled: write.selfUpdateEnabled,
    machineSecretHash: write.machineSecretHash,
    tokenHash: write.tokenHash,
    sealedProxyPassword: write.sealedProxyPassword,
    updatedAt: at,
  };
  if (write.existing.type === 'none') {
    await em.insert(Node, {
      ...fields,
      id: write.node,
      cluster: write.cluster,
      status: 'unreachable',
      statusSince: at,
      statusReason: NEVER_CONNECTED,
      lastSeenAt: null,
      insertedAt: at,
    });
    return;
  }
  const found = await em.nativeUpdate(
    Node,
    { id: write.node, cluster: write.cluster, ...sameMachine(write.existing) },
    fields,
  );
  if (found === 0) throw new GuardRefused({ code: 'conflict', message: 'A node with this id is already enrolled.' });
}

/**
 * What the row of a retry must still be: that of the machine which enrolled it, or one that nobody has connected with.
 */
function sameMachine(existing: NodeEnrolled['existing']): { machineSecretHash?: Uint8Array | null; lastSeenAt?: null } {
  if (existing.type !== 'retry') return {};
  return existing.machineSecretHash === null
    ? { machineSecretHash: null, lastSeenAt: null }
    : { machineSecretHash: existing.machineSecretHash };
}
