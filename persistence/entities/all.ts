/** Every entity, for MikroORM's discovery. The migrations make the tables; a test holds the two equal. */
import { Admin, AdminIdentity } from './admin.ts';
import { Cluster, ClusterOwnership } from './cluster.ts';
import { Command, CommandExecution, ExecutionOutputPart } from './command.ts';
import { ConsoleSession } from './console-session.ts';
import { DatabaseIncarnation } from './incarnation.ts';
import { EncryptionKey, WantedEncryptionKey } from './encryption-key.ts';
import { EnrollmentKey } from './enrollment-key.ts';
import { Event } from './event.ts';
import { IdempotencyKey } from './idempotency-key.ts';
import { Alias, DeletedNode, Node, RecoveryKey } from './node.ts';
import { NodeFacts, NodeLabels } from './node-description.ts';
import { NodeDiagnosis } from './node-diagnosis.ts';
import { NodeGroup } from './node-group.ts';
import { ReleaseChunk, ReleaseFile, ReleaseMetadata, ReleaseTarget } from './release.ts';
import { RowCount } from './row-count.ts';
import { SecretCheck } from './secret-check.ts';
import { SelfUpdateNode, SelfUpdateRequest } from './self-update.ts';
import { SshRecording } from './ssh-recording.ts';
import { SshPublicKey, SshUsername } from './ssh-username.ts';
import { VpnGateway, VpnHost, VpnLease, VpnMember, VpnMove, VpnReleased } from './vpn.ts';
import { EventChannel, Webhook, WebhookAttempt, WebhookDelivery } from './webhook.ts';

/** All of them; MikroORM knows no other. */
export const ENTITIES = [
  Admin,
  AdminIdentity,
  Alias,
  Cluster,
  ClusterOwnership,
  Command,
  CommandExecution,
  ConsoleSession,
  DatabaseIncarnation,
  DeletedNode,
  EncryptionKey,
  WantedEncryptionKey,
  EnrollmentKey,
  Event,
  EventChannel,
  ExecutionOutputPart,
  IdempotencyKey,
  VpnGateway,
  VpnMember,
  VpnMove,
  VpnReleased,
  Node,
  NodeDiagnosis,
  NodeFacts,
  NodeGroup,
  NodeLabels,
  RecoveryKey,
  ReleaseChunk,
  ReleaseFile,
  ReleaseMetadata,
  ReleaseTarget,
  RowCount,
  SecretCheck,
  SelfUpdateNode,
  SelfUpdateRequest,
  SshPublicKey,
  SshRecording,
  SshUsername,
  VpnHost,
  VpnLease,
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
];
