/** Everything that can be said to a node. Facts in the past tense, requests in the imperative. */
import type { AdminFrameBody } from '../../transport/protocol/frames.ts';
import type { ExecutionResult } from '../../transport/protocol/execution-result.ts';
import type { UpdateOutcome } from '../../transport/protocol/updates.ts';
import type { HealthReport, Registration } from '../../transport/protocol/agent-description.ts';
import type { ToldFacts } from '../../transport/protocol/facts.ts';
import type { ClusterId, ExecutionId, SessionId } from '../../transport/protocol/ids.ts';
import type { Labels } from '../../transport/protocol/labels.ts';
import type { VpnAdvertisement, VpnReport } from '../../transport/protocol/vpn.ts';
import type { SshCredential, SshGrant, UnansweredLogin } from '../../transport/protocol/ssh.ts';
import type { IdempotencyRecord, OpenExecution, SshPublicKeyRecord, SshUsernameRecord } from '../records.ts';
import type { ReplyTo } from '../reply-to.ts';
import type { Refusal } from '../refusal.ts';
import type { SshOutcome } from '../ssh/login-attempts.ts';
import type { Write } from '../writes.ts';
import type { DueUpdate } from './updates-state.ts';

/** An idempotent create: the answer is stored under the client's key with it. */
export type Idempotency = Omit<IdempotencyRecord, 'answer'>;

/**
 * What the agent said first on a connection. `holding` is complete: whatever it does not name, the agent does not have.
 */
export interface Hello {
  readonly registration: Registration;
  readonly report: HealthReport;
  readonly holding: readonly ExecutionId[];
  /** Whether it says how executions ended that it no longer holds. */
  readonly recalls?: boolean;
  /** Whether it tells its updater when it is asked to. */
  readonly updates?: boolean;
}

/** What a cluster tells its members of their VPN. */
export type VpnBody = Extract<AdminFrameBody, { type: 'mesh-network' | 'mesh-changed' | 'mesh-try' | 'mesh-refused' }>;

/**
 * What a session names is believed only while that session is the live one: agents reconnect mid-flight, and news of an
 * older one is ignored.
 */
export type NodeMessage =
  /** `relayedBy`: the admin, by its name, that passes the session on; absent: its agent came here by itself. */
  | {
      readonly type: 'agent-connected';
      readonly session: SessionId;
      readonly hello: Hello;
      readonly relayedBy?: string;
    }
  /** `isOurs`: it was this admin that stood still and heard nobody, so that the silence says nothing of the agent. */
  | {
      readonly type: 'agent-disconnected';
      readonly session: SessionId;
      readonly lastHeardMs: number;
      readonly isOurs: boolean;
    }
  | {
      readonly type: 'executions-acknowledged';
      readonly session: SessionId;
      readonly executions: readonly ExecutionId[];
      /** When the agent said so, in Unix ms. */
      readonly atMs: number;
    }
  /**
   * The agent has these, has not started them, and does not know whether it still may. `ask` is its number, for the
   * answer.
   */
  | {
      readonly type: 'executions-asked';
      readonly session: SessionId;
      readonly ask: number;
      readonly executions: readonly ExecutionId[];
    }
  | {
      readonly type: 'output-part-arrived';
      readonly session: SessionId;
      readonly execution: ExecutionId;
      readonly part: number;
      readonly text: string;
    }
  | { readonly type: 'results-arrived'; readonly session: SessionId; readonly results: readonly ExecutionResult[] }
  | { readonly type: 'agent-reported'; readonly session: SessionId; readonly report: HealthReport }
  /** Its machine is another than it said before. */
  | { readonly type: 'facts-changed'; readonly session: SessionId; readonly facts: ToldFacts }
  /** No report for 30 s on a live session. */
  | { readonly type: 'report-late'; readonly session: SessionId }
  /** A reminder set when the last session ended, for `dueMs`. */
  | { readonly type: 'silence-elapsed'; readonly dueMs: number }
  /** A reminder of a better status that was not told when it began. */
  | { readonly type: 'status-lasted' }
  /** Somebody tries to log in at the agent. `attempt` is the agent's number, for the verdict. */
  | {
      readonly type: 'ssh-attempted';
      readonly session: SessionId;
      readonly attempt: number;
      readonly username: string;
      readonly credential: SshCredential;
    }
  /** What an attempt came to. A null outcome: the rows could not be asked in time. */
  | {
      readonly type: 'ssh-verified';
      readonly session: SessionId;
      readonly attempt: number;
      readonly outcome: SshOutcome | null;
    }
  /** By whom the SSH sessions that live at the agent were opened. */
  /** Logins that the agent refused while no admin answered. */
  | {
      readonly type: 'ssh-unanswered-reported';
      readonly session: SessionId;
      readonly logins: readonly UnansweredLogin[];
    }
  | { readonly type: 'ssh-grants-reported'; readonly session: SessionId; readonly grants: readonly SshGrant[] }
  /** Of those, these usernames and keys are gone. */
  | {
      readonly type: 'ssh-grants-checked';
      readonly session: SessionId;
      readonly sshUsernames: readonly string[];
      readonly sshPublicKeys: readonly string[];
    }
  /** What the agent is in the VPN. `from`: the address that the session comes from, null when it is gone. */
  | {
      readonly type: 'vpn-advertised';
      readonly session: SessionId;
      readonly advertisement: VpnAdvertisement;
      readonly from: string | null;
      /** News that had to wait: it is said by a reminder. */ readonly isLate?: boolean;
    }
  /**
   * Where the WireGuard socket with this key is seen from outside; whether it is the same from everywhere, null while
   * that is not known.
   */
  | {
      readonly type: 'vpn-observed';
      readonly publicKey: string;
      readonly endpoint: string;
      readonly isStable: boolean | null;
    }
  /** The agent wants a direct path to the peer with this key. */
  | { readonly type: 'direct-wanted'; readonly session: SessionId; readonly publicKey: string }
  /** The agent's updater took the signal for this request (null), or says why not. */
  | {
      readonly type: 'update-answered';
      readonly session: SessionId;
      readonly request: string;
      readonly error: string | null;
    }
  /** Its turn has come in these requests, or, without any, what is due already is to be looked at again. */
  | { readonly type: 'update'; readonly due: readonly DueUpdate[] }
  /** What came of an update. */
  | { readonly type: 'update-ended'; readonly session: SessionId; readonly outcome: UpdateOutcome }
  | { readonly type: 'vpn-reported'; readonly session: SessionId; readonly report: VpnReport }
  /** A cluster tells its members. */
  | { readonly type: 'vpn-told'; readonly cluster: ClusterId; readonly body: VpnBody }
  | { readonly type: 'run'; readonly executions: readonly OpenExecution[] }
  /** Open executions may be stored that this actor was not told of. */
  | { readonly type: 'rescan' }
  | { readonly type: 'executions-loaded'; readonly executions: readonly OpenExecution[]; readonly more: boolean }
  /**
   * Of those asked for, `executions` are open; the others are terminal or unknown. `retry` is the part of the message
   * that asked, decided again with that knowledge. `leftMs`: for how long those that expire may still start, in ms,
   * by the database's clock as the rows were read.
   */
  | {
      readonly type: 'executions-looked-up';
      readonly asked: readonly ExecutionId[];
      readonly executions: readonly OpenExecution[];
      readonly leftMs: ReadonlyMap<ExecutionId, number>;
      readonly retry: NodeMessage;
    }
  /** These were not sent: whose the cluster is, or what time it is, was not known for sure, and is now. */
  | { readonly type: 'delivery-withheld'; readonly session: SessionId; readonly executions: readonly ExecutionId[] }
  /** The sweep found these past their expiry, and stored it. */
  | { readonly type: 'executions-expired'; readonly executions: readonly ExecutionId[] }
  | { readonly type: 'cancel'; readonly executions: readonly ExecutionId[]; readonly replyTo: ReplyTo | null }
  | {
      readonly type: 'create-alias';
      readonly replyTo: ReplyTo;
      readonly id: string;
      readonly name: string;
      readonly idempotency: Idempotency | null;
    }
  | { readonly type: 'delete-alias'; readonly replyTo: ReplyTo; readonly id: string }
  | {
      readonly type: 'create-ssh-username';
      readonly replyTo: ReplyTo;
      readonly username: SshUsernameRecord;
      readonly idempotency: Idempotency | null;
    }
  | { readonly type: 'delete-ssh-username'; readonly replyTo: ReplyTo; readonly id: string }
  | {
      readonly type: 'create-ssh-public-key';
      readonly replyTo: ReplyTo;
      readonly sshUsername: string;
      readonly key: SshPublicKeyRecord;
      readonly idempotency: Idempotency | null;
    }
  | { readonly type: 'delete-ssh-public-key'; readonly replyTo: ReplyTo; readonly id: string }
  | {
      readonly type: 'set-recovery-key';
      readonly replyTo: ReplyTo;
      readonly keyHash: Uint8Array;
      readonly key: string;
      readonly idempotency: Idempotency | null;
    }
  | { readonly type: 'clear-recovery-key'; readonly replyTo: ReplyTo }
  /** Some labels get these values, or are new; those of `removed` go. The others stay. */
  | {
      readonly type: 'set-labels';
      readonly replyTo: ReplyTo;
      readonly labels: Labels;
      readonly removed: readonly string[];
    }
  /** Refused when it has no such label. */
  | { readonly type: 'remove-label'; readonly replyTo: ReplyTo; readonly key: string }
  | { readonly type: 'change-cluster'; readonly replyTo: ReplyTo; readonly to: ClusterId; readonly toName: string }
  | { readonly type: 'delete'; readonly replyTo: ReplyTo }
  /** The sweep found that a node with a random id was not seen for long. */
  | { readonly type: 'forget' }
  /** Another actor or admin changed this node's rows in a way that ends its session (recovery, deletion elsewhere). */
  | { readonly type: 'revoked'; readonly reason: string }
  /** A write of this actor found its row in another state; the state was reloaded from rows before this came. */
  | { readonly type: 'refused'; readonly write: Write; readonly refusal: Refusal };

/** The message of this type. */
export type MessageOf<T extends NodeMessage['type']> = Extract<NodeMessage, { type: T }>;
