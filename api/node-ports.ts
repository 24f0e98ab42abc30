/** What is asked of the agents of nodes, through their tunnels. */
import type { NodeDiagnosisResource } from '../actors/resources/node-diagnosis.ts';
import type { AgentMetrics, HostMetrics, MetricsSource } from '../actors/resources/node-metrics.ts';
import type { Result } from '../actors/refusal.ts';
import type { NodeId } from '../transport/protocol/ids.ts';
import type { MetricsHistory } from '../transport/protocol/metrics-history.ts';
import type { SshSessions } from '../transport/protocol/ssh-sessions.ts';

/** Metrics as text, and as they came where they came packed. */
export interface RawExposition {
  readonly text: Buffer;
  /** The same, packed by gzip; null: it came as text. */
  readonly gzip: Buffer | null;
}

/**
 * Metrics of nodes, read live from their agents. Nothing is kept between two reads. Rejects with DatabaseUnavailable.
 */
export interface NodeMetrics {
  /**
   * The exposition of one source as its node gave it, whole and well-formed. `service_unavailable` when it
   * cannot be had, within METRICS_SCRAPE_TIMEOUT_MS, with a sentence that says why.
   */
  raw(node: NodeId, source: MetricsSource, signal?: AbortSignal): Promise<Result<RawExposition>>;
  /** The same of its host and of its agent, as records. */
  host(node: NodeId): Promise<Result<HostMetrics>>;
  agent(node: NodeId): Promise<Result<AgentMetrics>>;
}

/** What machines measured lately. Rejects with DatabaseUnavailable. */
export interface NodeHistories {
  /** As its agent keeps it; `conflict` where that is too old to. */
  get(node: NodeId): Promise<Result<MetricsHistory>>;
}

/** Who is logged in to machines by SSH now. Rejects with DatabaseUnavailable. */
export interface NodeSshSessions {
  /**
   * As its agent says, without addresses of the VPN; `conflict` where that is too old to, `service_unavailable` when it
   * is away or does not answer.
   */
  get(node: NodeId): Promise<Result<SshSessions>>;
}

/** Reports on machines. Diagnoses change nothing but the report that is kept. Both reject with DatabaseUnavailable. */
export interface NodeDiagnoses {
  /**
   * What is wrong with a node, the network first; within 15 s. Those who ask meanwhile share the answer. A node that is
   * away gets its last report, behind what is seen from here.
   */
  get(node: NodeId): Promise<Result<NodeDiagnosisResource>>;
  /** Keeps a report that an agent brought. `validation_failed` when it is none. */
  take(node: NodeId, body: unknown): Promise<Result<null>>;
}
