/**
 * Who may join a cluster with which key. The row decides again at the commit, so that k uses let exactly k nodes in
 * (E1).
 */
import { timingSafeEqual } from 'node:crypto';
import { ENROLLED_AGAIN_REASON, RECOVERED_REASON } from '../../transport/protocol/close-codes.ts';
import { FITS_NO_NODE, type EnrollAnswer } from '../../transport/protocol/enrollment.ts';
import { LABELS_MAX, NO_LABELS, type Labels } from '../../transport/protocol/labels.ts';
import type { AgentSettings } from '../../transport/protocol/agent-settings.ts';
import type { DomainEvent, EventData } from '../event-catalogue.ts';
import type { Change, Effect, Step } from '../step.ts';
import { answer, refuse, step } from '../step.ts';
import { shownFacts } from '../node/shown-facts.ts';
import { nodeSnapshot } from '../node/snapshots.ts';
import { newStanding } from '../node/status-reason.ts';
import type { ClusterRecord, EnrollmentKeyRecord, NodeRecord } from '../records.ts';
import { ok } from '../refusal.ts';
import type { Refusal, RefusalCode } from '../refusal.ts';
import { instant } from '../resources/instant.ts';
import type { NodeEnrolled } from '../writes.ts';
import type { ClusterMessage } from './messages.ts';
import type { ClusterState } from './state.ts';

type Enroll = Extract<ClusterMessage, { type: 'enroll' }>;

/** What one who wants in shows, with what the rows say of the node of this id. */
export type Presented = Pick<Enroll, 'existing' | 'recoveryKeyHash' | 'machineSecretHash' | 'key'>;

/** What a verification can end in. Source: docs/events.md. */
export type VerificationResult = EventData['edge.enrollment_key.verified']['result'];

/** Why a key does not open, in one sentence each. */
export const KEY_REFUSALS = {
  invalid_key: 'The enrollment key is not valid.',
  key_expired: 'The enrollment key has expired.',
  key_spent: 'The enrollment key has no uses left.',
  node_limit_reached: 'The cluster has reached its node limit.',
} as const satisfies Partial<Record<RefusalCode, string>>;

/** A recovery key that was used, replaced or made up. The row decides it again. */
export const WRONG_RECOVERY_KEY = 'A node with this id is already enrolled, and the recovery key is not valid for it.';

/**
 * The event of an attempt. It tells of the key, so that those of one key stay in order; without one, of the node, and
 * all key fields are null.
 */
export function verifiedEvent(
  key: EnrollmentKeyRecord | null,
  result: VerificationResult,
  node: string,
  atMs: number,
): DomainEvent<'edge.enrollment_key.verified'> {
  const data = {
    enrollment_key_id: key?.id ?? null,
    cluster_name: key?.clusterName ?? null,
    name: key?.name ?? null,
    uses_remaining: key?.usesRemaining ?? null,
    result,
    verified_at: instant(atMs),
  };
  return { type: 'edge.enrollment_key.verified', subject: key?.id ?? node, atMs, data };
}

/** Lets a node in, or says why not. */
export function enroll(
  state: ClusterState,
  record: ClusterRecord,
  message: Enroll,
  settings: AgentSettings,
  nowMs: number,
): Step<ClusterState> {
  const existing = admissionOf(message);
  if (typeof existing === 'string')
    return step(state, [], [refuse(message.replyTo, { code: 'conflict', message: existing })]);
  const labels = labelsOf(message);
  if (Object.keys(labels).length > LABELS_MAX) return step(state, [], [refuse(message.replyTo, TOO_MANY_LABELS)]);
  const problem = problemOf(message, existing, nowMs);
  if (problem !== null) return turnedAway(state, message, problem, nowMs);

  const node = joined(record, message, labels, nowMs);
  const snapshot = nodeSnapshot(node, aliasesOf(message));
  const spendsUse = existing.type !== 'retry';
  const used = {
    ...message.key,
    usesRemaining:
      message.key.usesRemaining === null || !spendsUse ? message.key.usesRemaining : message.key.usesRemaining - 1,
  };
  const events: DomainEvent[] = [verifiedEvent(used, 'verified', node.id, nowMs)];
  // Until it connects, a retry belongs to the enrolment whose answer was lost, which was told of.
  const isBack =
    existing.type === 'recovery' || (existing.type === 'retry' && message.existing?.everConnected === true);
  if (isBack || existing.type === 'none')
    events.push({
      type: isBack ? 'edge.node.reregistered' : 'edge.node.registered',
      subject: node.id,
      atMs: nowMs,
      data: snapshot,
    });
  const previous = message.existing?.node.version;
  if (isBack && previous !== undefined && previous !== node.version)
    events.push({
      type: 'edge.node.version_changed',
      subject: node.id,
      atMs: nowMs,
      data: { ...snapshot, previous_version: previous },
    });
  const change: Change = {
    write: writeOf(node, message, existing, spendsUse, nowMs),
    events,
    notices: [
      { type: 'node-changed', node: node.id },
      ...(existing.type === 'none' ? [] : [{ type: 'node-revoked' as const, node: node.id }]),
      { type: 'events-stored' },
    ],
  };
  const grown = existing.type === 'none' ? { ...record, nodeCount: record.nodeCount + 1 } : record;
  return step(
    { ...state, record: grown },
    [change],
    [...wake(message, existing), answer(message.replyTo, ok(answerOf(record, message, settings)))],
  );
}

/** All that the agent needs; its two secrets are said this once. */
function answerOf(record: ClusterRecord, { request, credentials }: Enroll, settings: AgentSettings): EnrollAnswer {
  return {
    node_id: request.node_id,
    api_token: credentials.apiToken,
    proxy_password: credentials.proxyPassword,
    cluster_name: record.name,
    admin_urls: settings.admin_urls,
    settings,
  };
}

/**
 * How an id may enrol; a sentence when it may not. The machine that enrolled it, which the secret shows, may ask again
 * whenever it wants, at no use: its answer was lost, by an enrolment key or a recovery key, or the database was set
 * back to before the token that it has.
 */
export function admissionOf({
  existing,
  recoveryKeyHash,
  machineSecretHash,
  key,
}: Presented): NodeEnrolled['existing'] | string {
  if (existing === null) return recoveryKeyHash === null ? { type: 'none' } : FITS_NO_NODE;
  if (isSameHash(existing.machineSecretHash, machineSecretHash)) return { type: 'retry', machineSecretHash };
  if (recoveryKeyHash !== null)
    return isSameHash(existing.recoveryKeyHash, recoveryKeyHash)
      ? { type: 'recovery', keyHash: recoveryKeyHash }
      : WRONG_RECOVERY_KEY;
  // An agent of before machine secrets: it holds no token, and it spent its use already.
  if (existing.machineSecretHash === null && !existing.everConnected && existing.node.enrollmentKeyId === key.id)
    return { type: 'retry', machineSecretHash: null };
  return 'A node with this id is already enrolled. To bring it back after losing its data, use a recovery key.';
}

function isSameHash(stored: Uint8Array | null, presented: Uint8Array | null): boolean {
  return (
    stored !== null && presented !== null && stored.length === presented.length && timingSafeEqual(stored, presented)
  );
}

/**
 * What is certain from here. The uses and the node limit are decided by the rows, where several agents meet, and so is
 * all of a recovery: an id that is enrolled is a conflict unless the recovery key is valid
 * (docs/architecture/sessions.md), whatever the enrolment key is.
 */
function problemOf(
  message: Enroll,
  existing: NodeEnrolled['existing'],
  nowMs: number,
): keyof typeof KEY_REFUSALS | null {
  if (existing.type !== 'none') return null;
  const { key } = message;
  if (key.expiredAtMs !== null && key.expiredAtMs <= nowMs) return 'key_expired';
  if (key.usesRemaining === 0) return 'key_spent';
  return null;
}

function turnedAway(
  state: ClusterState,
  message: Enroll,
  code: keyof typeof KEY_REFUSALS,
  nowMs: number,
): Step<ClusterState> {
  const refusal: Refusal = { code, message: KEY_REFUSALS[code] };
  const change: Change = {
    write: { kind: 'nothing' },
    events: [verifiedEvent(message.key, code, message.request.node_id, nowMs)],
    notices: [{ type: 'events-stored' }],
  };
  return step(state, [change], [refuse(message.replyTo, refusal)]);
}

const TOO_MANY_LABELS: Refusal = {
  code: 'validation_failed',
  message: `The labels of the machine (AGENT_LABELS) and those of its enrollment key are more than ${LABELS_MAX} together.`,
};

/** What a node has from now on: that of its rows, or, when it is new, its machine's with those of the key over them. */
function labelsOf({ existing, request, key }: Enroll): Labels {
  return existing === null ? { ...(request.labels ?? NO_LABELS), ...key.labels } : existing.node.labels;
}

/** Those that it had, and those that its machine asks for. */
function aliasesOf({ existing, request }: Enroll): readonly { readonly name: string }[] {
  return [...new Set([...(existing?.aliases ?? []), ...(request.aliases ?? [])])].map((name) => ({ name }));
}

function joined(record: ClusterRecord, message: Enroll, labels: Labels, nowMs: number): NodeRecord {
  const { request } = message;
  return {
    id: request.node_id,
    cluster: record.id,
    clusterName: record.name,
    status: message.existing?.node.status ?? 'unreachable',
    standing: message.existing?.node.standing ?? newStanding(nowMs),
    version: request.version,
    idType: request.id_type,
    ports: request.ports,
    selfUpdateEnabled: request.self_update_enabled,
    enrollmentKeyId: message.key.id,
    facts: request.facts ? shownFacts(request.facts) : null,
    labels,
    lastSeenAtMs: message.existing?.node.lastSeenAtMs ?? null,
    insertedAtMs: message.existing?.node.insertedAtMs ?? nowMs,
    updatedAtMs: nowMs,
  };
}

function writeOf(
  node: NodeRecord,
  message: Enroll,
  existing: NodeEnrolled['existing'],
  spendsUse: boolean,
  nowMs: number,
): NodeEnrolled {
  const { request, credentials } = message;
  return {
    kind: 'node-enrolled',
    node: node.id,
    cluster: node.cluster,
    enrollmentKey: message.key.id,
    spendsUse,
    existing,
    machineSecretHash: message.machineSecretHash,
    tokenHash: credentials.tokenHash,
    sealedProxyPassword: credentials.sealedProxyPassword,
    version: request.version,
    idType: request.id_type,
    ports: request.ports,
    selfUpdateEnabled: request.self_update_enabled,
    wireguardPublicKey: request.wireguard_public_key ?? null,
    facts: node.facts,
    labels: node.labels,
    aliases: (request.aliases ?? []).map((name, index) => ({ id: message.aliasIds[index] ?? '', name })),
    atMs: nowMs,
  };
}

/**
 * A node that was there before starts again from its new rows, and an older session of it ends: with a retry it may be
 * that of the same machine, with a recovery it is that of another one, whose work is over.
 */
function wake(message: Enroll, existing: NodeEnrolled['existing']): readonly Effect[] {
  const address = { kind: 'node' as const, id: message.request.node_id };
  if (existing.type === 'none') return [{ type: 'revive', address }];
  const reason = existing.type === 'recovery' ? RECOVERED_REASON : ENROLLED_AGAIN_REASON;
  return [{ type: 'tell', told: { to: address, message: { type: 'revoked', reason } } }];
}
