/**
 * What the supervisor must know of each kind of actor: its behaviour, how it is born, and how it comes back from rows.
 */
import { NO_VPN, type ClusterState } from '../../actors/cluster/state.ts';
import { clusterBehaviour } from '../../actors/cluster/transition.ts';
import type { ClusterMessage } from '../../actors/cluster/messages.ts';
import { commandBehaviour } from '../../actors/command/transition.ts';
import type { CommandMessage } from '../../actors/command/messages.ts';
import { EMPTY_SUMMARY } from '../../actors/command/state.ts';
import type { CommandState } from '../../actors/command/state.ts';
import type { Behaviour } from '../../actors/behaviour.ts';
import { ACTOR_KINDS } from '../../actors/inspection.ts';
import type { Loader } from '../ports.ts';
import type { ActorKind } from '../../actors/messages.ts';
import type { NodeMessage } from '../../actors/node/messages.ts';
import type { NodeState } from '../../actors/node/state.ts';
import { nodeBehaviour } from '../../actors/node/transition.ts';
import type { NodeSettings } from '../../actors/node/transition.ts';
import type { SelfUpdateMessage } from '../../actors/self-update/messages.ts';
import { uncounted, type SelfUpdateState } from '../../actors/self-update/state.ts';
import { selfUpdateBehaviour } from '../../actors/self-update/transition.ts';
import type { WebhookMessage } from '../../actors/webhook/messages.ts';
import type { WebhookState } from '../../actors/webhook/state.ts';
import { unborn } from '../../actors/webhook/state.ts';
import { webhookBehaviour } from '../../actors/webhook/transition.ts';
import type { WebhookSettings } from '../../actors/webhook/transition.ts';
import type { ClusterId, CommandId, NodeId } from '../../transport/protocol/ids.ts';

/** State and messages of each kind. */
export interface Kinds {
  node: { state: NodeState; message: NodeMessage };
  cluster: { state: ClusterState; message: ClusterMessage };
  command: { state: CommandState; message: CommandMessage };
  webhook: { state: WebhookState; message: WebhookMessage };
  'self-update': { state: SelfUpdateState; message: SelfUpdateMessage };
}

/** What behaviours depend on besides their state. */
export type BehaviourSettings = NodeSettings & WebhookSettings;

/** What is particular to a kind; everything else about running an actor is the same for all. */
export interface Kind<S, M> {
  readonly behaviour: Behaviour<S, M>;
  /** State of one that is about to be created; null for a kind that is only ever found in rows. */
  initialState(id: string): S | null;
  /** Null: no such row. */
  load(id: string): Promise<S | null>;
  /** The cluster whose lease its writes carry; null: none. */
  cluster(state: S): ClusterId | null;
}

/** Exhaustive: a new kind of actor does not compile until it has a row here. */
export type KindTable = { readonly [K in ActorKind]: Kind<Kinds[K]['state'], Kinds[K]['message']> };

/** Something for each kind. */
export function byKind<T>(make: (kind: ActorKind) => T): Readonly<Record<ActorKind, T>> {
  return Object.fromEntries(ACTOR_KINDS.map((kind) => [kind, make(kind)])) as Record<ActorKind, T>;
}

/** All kinds. */
export function kindTable(loader: Loader, settings: BehaviourSettings): KindTable {
  return {
    node: {
      behaviour: nodeBehaviour(settings),
      initialState: () => null,
      load: (id) => loader.node(id as NodeId),
      cluster: (state) => state.record.cluster,
    },
    cluster: {
      behaviour: clusterBehaviour(settings),
      initialState: (id) => ({ id: id as ClusterId, record: null, vpn: NO_VPN }),
      load: async (id) => (await loader.clusters([id as ClusterId]))[0] ?? null,
      // Before it is stored there is no lease to carry.
      cluster: (state) => (state.record === null ? null : state.id),
    },
    command: {
      behaviour: commandBehaviour,
      initialState: (id) => ({ id: id as CommandId, isCreated: false, summary: EMPTY_SUMMARY, open: new Map() }),
      load: (id) => loader.command(id as CommandId),
      cluster: () => null,
    },
    webhook: {
      behaviour: webhookBehaviour(settings),
      initialState: unborn,
      load: (id) => loader.webhook(id),
      // Its writes are guarded by the rows; who may deliver is decided by the lease of the channel.
      cluster: () => null,
    },
    'self-update': {
      behaviour: selfUpdateBehaviour,
      initialState: (id) => uncounted(id, null),
      load: (id) => loader.selfUpdate(id),
      // Its moves are guarded by the revision of its row; who may make them is decided by the lease of the task.
      cluster: () => null,
    },
  };
}
