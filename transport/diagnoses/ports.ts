/** What diagnoses reach. */
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../net/log.ts';
import type { NodeStatus } from '../../actors/resources/node.ts';
import type { DiagnosisCheck } from '../protocol/diagnosis.ts';
import type { NodeId } from '../protocol/ids.ts';
import type { AgentRequests } from '../tunnels/agent-requests.ts';
import type { Tunnels } from '../tunnels/tunnels.ts';

/** What diagnoses need. */
export interface DiagnosisPorts {
  readonly requests: Pick<AgentRequests, 'get'>;
  readonly tunnels: Pick<Tunnels, 'reach'>;
  /** Whether the node has a live session at this admin. */
  readonly hasSession: (node: NodeId) => boolean;
  /** The admin, by its name, that passes that session on; null: none does. */
  readonly relayedBy: (node: NodeId) => string | null;
  /** Each rejects with DatabaseUnavailable. */
  readonly rows: {
    standing(node: NodeId): Promise<NodeStanding | null>;
    ranges(node: NodeId): Promise<readonly string[] | null>;
    store(node: NodeId, checks: readonly DiagnosisCheck[], atMs: number): Promise<void>;
  };
  readonly adminId: string;
  /** Of this admin. */
  readonly version: string;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Log;
}

/** A node as a diagnosis starts from it: what the rows know of it. */
export interface NodeStanding {
  readonly status: NodeStatus;
  readonly lastSeenAtMs: number | null;
  /** Of its agent. */
  readonly version: string;
  /** Of its agent's API. */
  readonly apiPort: number;
  /** The admin that owns its cluster and has its session; null: none now. */
  readonly owner: { readonly id: string; readonly name: string } | null;
  /** Ranges of its cluster's VPN, as CIDR. */
  readonly ranges: readonly string[];
  /** The last report; null: none so far, or one that this version cannot read. */
  readonly report: { readonly collectedAtMs: number; readonly checks: readonly DiagnosisCheck[] } | null;
}
