/** What sessions reach, and what they count. */
import type { Addressed } from '../../actors/messages.ts';
import type { Clock } from '../../actors/ports.ts';
import type { AgentSettings } from '../protocol/agent-settings.ts';
import type { ClusterId, NodeId } from '../protocol/ids.ts';
import type { Log } from '../net/log.ts';
import type { FrameCounters } from './frame-counters.ts';

/** What sessions reach. */
export interface SessionPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** For `refresh-settings`, and whoever is told otherwise; read anew each time. */
  readonly settings: AgentSettings;
  /** Whether a cluster is this admin's, and not on its way to another one: its actors here answer for its sessions. */
  holds(cluster: ClusterId): boolean;
  /** A node's credential was revoked: what else is open to it must end too (E5). */
  revoked(node: NodeId): void;
  /** A node has a new session, on which nothing was asked for yet. */
  welcomed(node: NodeId): void;
  /** False when the node's mailbox is full. */
  tell(addressed: Addressed): boolean;
}

/** What happened so far, for metrics. */
export interface SessionCounters {
  opened: number;
  cut: number;
  readonly frames: FrameCounters;
}
