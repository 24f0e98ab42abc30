/** Who can be addressed, and with what. The one place where the kinds of actors meet. */
import type { ClusterId, CommandId, NodeId } from '../transport/protocol/ids.ts';
import type { ReplyTo } from './reply-to.ts';
import type { ClusterMessage } from './cluster/messages.ts';
import type { CommandMessage } from './command/messages.ts';
import type { NodeMessage } from './node/messages.ts';
import type { Result } from './refusal.ts';
import type { SelfUpdateMessage } from './self-update/messages.ts';
import type { WebhookMessage } from './webhook/messages.ts';

/** Where a message goes. An id is enough: the directory finds the actor, or starts it from its rows. */
export type Address =
  | { readonly kind: 'node'; readonly id: NodeId }
  | { readonly kind: 'cluster'; readonly id: ClusterId }
  | { readonly kind: 'command'; readonly id: CommandId }
  | { readonly kind: 'webhook'; readonly id: string }
  | { readonly kind: 'self-update'; readonly id: string };

/** An actor in a line of the log: its kind, and its id under the name that it has in every other line. */
export function actorFields({ kind, id }: Address): Readonly<Record<string, string>> {
  return { kind, [kind === 'self-update' ? 'self_update_request' : kind]: id };
}

/** A kind of actor. */
export type ActorKind = Address['kind'];

/** A message with its addressee. */
export type Addressed =
  | { readonly to: Extract<Address, { kind: 'node' }>; readonly message: NodeMessage }
  | { readonly to: Extract<Address, { kind: 'cluster' }>; readonly message: ClusterMessage }
  | { readonly to: Extract<Address, { kind: 'command' }>; readonly message: CommandMessage }
  | { readonly to: Extract<Address, { kind: 'webhook' }>; readonly message: WebhookMessage }
  | { readonly to: Extract<Address, { kind: 'self-update' }>; readonly message: SelfUpdateMessage };

/** Anything that can be said to any actor. */
export type Message = Addressed['message'];

/**
 * Asks an actor and waits for its answer, at most ASK_MS_MAX. An actor that does not live here, or is too busy, refuses
 * with `service_unavailable`; one that does not exist with `not_found`.
 */
export type Ask = <T>(build: (replyTo: ReplyTo) => Addressed) => Promise<Result<T>>;
