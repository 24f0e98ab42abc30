/** Enrolment keys: what lets new agents into a cluster. */
import { z } from 'zod';
import type { EnrollmentKeyRecord } from '../../actors/records.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import { EnrollmentKeyResource } from '../../actors/resources/enrollment-key.ts';
import { enrollmentKeyBlob } from '../../actors/sealed-columns.ts';
import { ClusterName } from '../../transport/protocol/cluster-names.ts';
import { encodeEnrollmentBlob } from '../../transport/protocol/enrollment.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import { Uuid } from '../../transport/protocol/ids.ts';
import { Labels, NO_LABELS } from '../../transport/protocol/labels.ts';
import { instantMs, nothing, positiveInteger, storableText } from '../inputs/inputs.ts';
import { listInput } from '../inputs/list-input.ts';
import { operation, type Call, type OwnerPorts } from '../operation.ts';
import { ownerOfCluster } from '../forwarding/owned-by.ts';
import { found, NOT_FOUND, page } from '../reading.ts';
import { RESERVED_NAME } from './clusters.ts';

/** Longest name, in characters. */
const NAME_MAX = 255;

/** A public key lasts one hour and lets one node in. Source: docs/api.md, Resources. */
const PUBLIC_KEY_MS = 3_600_000;

/** Public keys that one address gets in a minute: a rack of machines behind one address, and no flood. */
const PUBLIC_KEYS_PER_MINUTE_MAX = 20;

/**
 * Public keys that one address, or /64 of IPv6, gets in the hour for which they last: a quarter of those that may wait,
 * so that others get some whatever one address does at one admin within one hour of its clock.
 */
export const PUBLIC_KEYS_PER_HOUR_MAX = 250;

const body = {
  name: storableText(NAME_MAX).nullish().describe('For display only.'),
  expired_at: instantMs.nullish().describe('Null: never.'),
  uses_remaining: positiveInteger.nullish().describe('How many nodes it lets in; null: any number.'),
  labels: Labels.optional().describe('Labels of every node that it lets in, before those that its machine names.'),
};

export const create_enrollment_key = operation({
  name: 'create_enrollment_key',
  kind: 'mutation',
  needsCapacity: true,
  summary:
    'Create an enrolment key for a cluster; one use when uses_remaining is left out. The cluster default is the configured one.',
  rest: { method: 'POST', path: '/clusters/:cluster_name/enrollment_keys', status: 201 },
  creates: true,
  input: z.strictObject({ cluster_name: ClusterName, ...body }),
  output: EnrollmentKeyResource,
  ownedBy: ({ cluster_name }, ports) => ownerOfCluster(idOf(nameOf(cluster_name, ports), ports)),
  handle: async (input, call) => {
    const name = nameOf(input.cluster_name, call.ports);
    const cluster = await idOf(name, call.ports);
    if (name === null || cluster === null) return refuse('not_found', NOT_FOUND);
    return createKey(
      { id: cluster, name },
      {
        name: input.name ?? null,
        expiredAtMs: input.expired_at ?? null,
        usesRemaining: input.uses_remaining === undefined ? 1 : input.uses_remaining,
        labels: input.labels ?? NO_LABELS,
      },
      call,
    );
  },
});

export const create_public_enrollment_key = operation({
  name: 'create_public_enrollment_key',
  kind: 'mutation',
  needsCapacity: true,
  scope: 'public',
  summary:
    'Create a key that lets one node into the default cluster within an hour. Needs no credential; works only where the operator allows it.',
  rest: { method: 'POST', path: '/clusters/default/enrollment_keys/public', status: 201 },
  fromOneAddressPerMinuteMax: PUBLIC_KEYS_PER_MINUTE_MAX,
  fromOneAddressPerHourMax: PUBLIC_KEYS_PER_HOUR_MAX,
  mayBeForbidden: true,
  mayBeMissing: true,
  creates: true,
  input: nothing,
  output: EnrollmentKeyResource,
  ownedBy: (_input, ports) => ownerOfCluster(idOf(ports.settings.defaultClusterName, ports)),
  handle: async (_input, call) => {
    const { settings, clock, reads } = call.ports;
    const name = settings.defaultClusterName;
    if (!settings.publicEnrollmentKeyEnabled || name === null)
      return refuse('forbidden', 'Public enrolment keys are not enabled here.');
    const cluster = await reads.clusterId(name);
    if (cluster === null) return refuse('not_found', NOT_FOUND);
    return createKey(
      { id: cluster, name },
      { name: null, expiredAtMs: clock.nowMs() + PUBLIC_KEY_MS, usesRemaining: 1, labels: NO_LABELS, isPublic: true },
      call,
    );
  },
});

export const list_enrollment_keys = operation({
  name: 'list_enrollment_keys',
  kind: 'query',
  summary: 'List enrolment keys, their keys masked.',
  rest: { method: 'GET', path: '/enrollment_keys', status: 200 },
  list: true,
  input: listInput('enrollment_keys'),
  output: EnrollmentKeyResource,
  handle: (query, { ports }) => page(ports.reads.list('enrollment_keys', query)),
});

export const get_enrollment_key = operation({
  name: 'get_enrollment_key',
  kind: 'query',
  summary: 'Get an enrolment key, with the key itself.',
  rest: { method: 'GET', path: '/enrollment_keys/:id', status: 200 },
  input: z.strictObject({ id: Uuid }),
  output: EnrollmentKeyResource,
  handle: ({ id }, { ports }) => found(ports.reads.get('enrollment_keys', id)),
});

export const update_enrollment_key = operation({
  name: 'update_enrollment_key',
  kind: 'mutation',
  needsCapacity: true,
  summary: 'Change the name, expiry, remaining uses or labels of an enrolment key. What is left out stays.',
  rest: { method: 'PATCH', path: '/enrollment_keys/:id', status: 200 },
  conflicts: true,
  input: z.strictObject({ id: Uuid, ...body }),
  output: EnrollmentKeyResource,
  ownedBy: ({ id }, { reads }) => ownerOfCluster(clusterOf(reads.enrollmentKey(id))),
  // Not repeatable: remaining uses that are set twice give back what was used in between (E1).
  handle: async ({ id, name, expired_at, uses_remaining, labels }, { ports }) => {
    const [key, resource] = await Promise.all([ports.reads.enrollmentKey(id), ports.reads.get('enrollment_keys', id)]);
    if (key === null || resource === null) return refuse('not_found', NOT_FOUND);
    if ([name, expired_at, uses_remaining, labels].every((given) => given === undefined)) return ok(resource);
    return ports.ask<EnrollmentKeyResource>((replyTo) => ({
      to: { kind: 'cluster', id: key.cluster },
      message: {
        type: 'update-key',
        replyTo,
        key,
        blob: resource.key,
        name,
        expiredAtMs: expired_at,
        usesRemaining: uses_remaining,
        labels,
      },
    }));
  },
});

export const delete_enrollment_key = operation({
  name: 'delete_enrollment_key',
  kind: 'mutation',
  needsCapacity: true,
  summary: 'Delete an enrolment key. Nodes that it let in stay.',
  rest: { method: 'DELETE', path: '/enrollment_keys/:id', status: 204 },
  input: z.strictObject({ id: Uuid }),
  output: z.null(),
  ownedBy: ({ id }, { reads }) => ownerOfCluster(clusterOf(reads.enrollmentKey(id))),
  doneWhenMissing: true,
  handle: async ({ id }, { ports }) => {
    const key = await ports.reads.enrollmentKey(id);
    if (key === null) return refuse('not_found', NOT_FOUND);
    return ports.ask<null>((replyTo) => ({
      to: { kind: 'cluster', id: key.cluster },
      message: { type: 'delete-key', replyTo, id },
    }));
  },
});

/** What a name in a path stands for; null: for nothing here. */
function nameOf(name: string, { settings }: Pick<OwnerPorts, 'settings'>): string | null {
  return name === RESERVED_NAME ? settings.defaultClusterName : name;
}

async function idOf(name: string | null, { reads }: Pick<OwnerPorts, 'reads'>): Promise<ClusterId | null> {
  return name === null ? null : reads.clusterId(name);
}

async function clusterOf(key: Promise<EnrollmentKeyRecord | null>): Promise<ClusterId | null> {
  return (await key)?.cluster ?? null;
}

interface NewKey {
  readonly name: string | null;
  readonly expiredAtMs: number | null;
  readonly usesRemaining: number | null;
  readonly labels: Labels;
  readonly isPublic?: true;
}

/** The nonce is the secret: its hash finds the key again, and the whole blob is stored sealed (E3). */
function createKey(
  cluster: { readonly id: ClusterId; readonly name: string },
  key: NewKey,
  { ports, idempotency }: Call,
): Promise<Result<EnrollmentKeyResource>> {
  const id = ports.newId();
  const nonce = ports.vault.newSecret();
  const blob = encodeEnrollmentBlob({ admin_urls: [...ports.settings.adminUrls], cluster_name: cluster.name, nonce });
  return ports.ask<EnrollmentKeyResource>((replyTo) => ({
    to: { kind: 'cluster', id: cluster.id },
    message: {
      type: 'create-key',
      replyTo,
      id,
      ...key,
      key: blob,
      nonceHash: ports.vault.sha256(nonce),
      sealedKey: ports.vault.seal(blob, enrollmentKeyBlob(id)),
      idempotency,
    },
  }));
}
