/** Nodes that enrol in a cluster. */
import { NO_VPN } from '../../../../actors/cluster/state.ts';
import type { ClusterMessage } from '../../../../actors/cluster/messages.ts';
import { clusterBehaviour } from '../../../../actors/cluster/transition.ts';
import {
  REPLY_TO,
  CLUSTER,
  clusterRecord,
  id,
  keyRecord,
  NODE,
  NOW_MS,
  PORTS,
  SETTINGS,
} from '../../../support/actors.ts';

const behaviour = clusterBehaviour(SETTINGS);

type Enroll = Extract<ClusterMessage, { type: 'enroll' }>;

const CREDENTIALS = {
  apiToken: 'canary-token',
  tokenHash: Buffer.alloc(32, 1),
  proxyPassword: 'canary-password',
  sealedProxyPassword: 'sealed',
};

/** The hash of a recovery key. */
export const RECOVERY = Buffer.alloc(32, 2);

/** What a machine asks with. */
export const REQUEST: Enroll['request'] = {
  enrollment_key: 'canary-key',
  node_id: NODE,
  id_type: 'persistent',
  version: '1.0.0',
  ports: PORTS,
  self_update_enabled: true,
  aliases: ['press'],
};

/** What the cluster does with a node that enrols. */
export function enroll(more: Partial<Enroll> = {}, record = clusterRecord({ nodeCount: 2 })) {
  const message: Enroll = {
    type: 'enroll',
    replyTo: REPLY_TO,
    key: keyRecord(),
    existing: null,
    recoveryKeyHash: null,
    machineSecretHash: null,
    credentials: CREDENTIALS,
    aliasIds: [id('1', 1)],
    request: REQUEST,
    ...more,
  };
  return behaviour.transition({ id: CLUSTER, record, vpn: NO_VPN }, message, NOW_MS);
}

/** What is stored of an enrolment. */
export const write = {
  kind: 'node-enrolled',
  node: NODE,
  cluster: CLUSTER,
  enrollmentKey: id('d', 1),
  spendsUse: true,
  existing: { type: 'none' },
  machineSecretHash: null,
  tokenHash: CREDENTIALS.tokenHash,
  sealedProxyPassword: 'sealed',
  version: '1.0.0',
  idType: 'persistent',
  ports: PORTS,
  selfUpdateEnabled: true,
  wireguardPublicKey: null,
  facts: null,
  labels: {},
  aliases: [{ id: id('1', 1), name: 'press' }],
  atMs: NOW_MS,
};

/** What the event of an enrolment says. */
export const verified = {
  enrollment_key_id: id('d', 1),
  cluster_name: 'factory',
  name: 'line 3',
  uses_remaining: 4,
  result: 'verified',
  verified_at: '2026-01-15T10:01:00.000Z',
};

/** The new node as its events tell it. */
export const snapshot = {
  node_id: NODE,
  name: 'press',
  cluster_name: 'factory',
  status: 'unreachable',
  version: '1.0.0',
  id_type: 'persistent',
  ...PORTS,
  self_update_enabled: true,
  facts: null,
  labels: {},
  last_seen_at: null,
  inserted_at: '2026-01-15T10:01:00.000Z',
  updated_at: '2026-01-15T10:01:00.000Z',
};

/** The hash of the secret of a machine. */
export const MACHINE = Buffer.alloc(32, 3);
