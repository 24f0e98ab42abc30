/** Enrolment: what an agent posts to ENROLL_PATH, what it gets, and the key blob that starts it. */
import { z } from 'zod';
import { AliasName, ClusterName } from './cluster-names.ts';
import { AgentSettings } from './agent-settings.ts';
import { AgentPorts } from './agent-description.ts';
import { ToldFacts } from './facts.ts';
import { NodeId } from './ids.ts';
import { Labels } from './labels.ts';
import { wireText, wireUrl } from './text.ts';
import { WireguardKey } from './wireguard.ts';

/** 32 random bytes or more, as unpadded base64url. */
const MACHINE_SECRET = /^[\w-]{43,128}$/u;

/**
 * What a machine says of itself when it wants in. A `node_id` that is enrolled already needs a recovery key. Source:
 * docs/architecture/sessions.md.
 */
export const EnrollRequest = z.object({
  enrollment_key: wireText().min(1).max(8_192),
  recovery_key: wireText().min(1).max(512).nullish(),
  /**
   * Made by the machine before its first try and kept there: with it, and only with it, the same machine may ask again
   * for an answer that it lost. Absent from older agents.
   */
  machine_secret: wireText().regex(MACHINE_SECRET).nullish(),
  node_id: NodeId,
  id_type: z.enum(['persistent', 'random']),
  version: wireText().min(1).max(64),
  ports: AgentPorts,
  self_update_enabled: z.boolean(),
  /** Absent or null: this machine joins no VPN by itself. */
  wireguard_public_key: WireguardKey.nullish(),
  aliases: z.array(AliasName).max(8).nullish(),
  /** Absent from older agents, like the labels. */
  facts: ToldFacts.nullish(),
  /** Of a node that is new; those of the enrolment key come before them. */
  labels: Labels.nullish(),
});
export type EnrollRequest = z.infer<typeof EnrollRequest>;

/** Answer to a good enrolment. `api_token` and `proxy_password` are shown this once. */
export const EnrollAnswer = z.object({
  node_id: NodeId,
  api_token: wireText(),
  proxy_password: wireText(),
  cluster_name: ClusterName,
  admin_urls: z.array(wireText()),
  settings: AgentSettings,
  /**
   * Aliases that were asked for and that other nodes of the cluster have, or that the node has no room for. Absent:
   * there are none, or an older admin.
   */
  aliases_taken: z.array(AliasName).max(8).optional(),
});
export type EnrollAnswer = z.infer<typeof EnrollAnswer>;

/** What an enrolment key blob says: all that a new agent needs. Source: docs/architecture/sessions.md. */
export const EnrollmentBlob = z.object({
  admin_urls: z.array(wireUrl()).min(1).max(32),
  cluster_name: ClusterName,
  nonce: wireText().min(22).max(128),
});
export type EnrollmentBlob = z.infer<typeof EnrollmentBlob>;

/**
 * A recovery key as text: the node it is for, then its secret. So an agent that lost everything learns its old id from
 * it.
 */
export function encodeRecoveryKey(node: NodeId, secret: string): string {
  return `${node}.${secret}`;
}

/** Reads the node that a recovery key is for; null when the text is no recovery key. */
export function recoveryKeyNode(text: string): NodeId | null {
  const parsed = NodeId.safeParse(text.split('.')[0]);
  return parsed.success && text.includes('.') ? parsed.data : null;
}

/**
 * The secret of a recovery key: what is hashed and compared. Text that is no recovery key is its own secret, and fits
 * none.
 */
export function recoveryKeySecret(text: string): string {
  return text.slice(text.indexOf('.') + 1);
}

/** What an admin says of a recovery key whose node it does not know: the agent goes by it. */
export const FITS_NO_NODE = 'The recovery key fits no node.';

/** Blob as text: unpadded base64url of its JSON. */
export function encodeEnrollmentBlob(blob: EnrollmentBlob): string {
  return Buffer.from(JSON.stringify(blob)).toString('base64url');
}

/** Reads a blob; null when it is not one. */
export function decodeEnrollmentBlob(text: string): EnrollmentBlob | null {
  try {
    const parsed = EnrollmentBlob.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null; // not JSON: the same answer as any other text that is no key
  }
}
