/** Branded identifiers: a node's id cannot be passed where an execution's is wanted. */
import { z } from 'zod';
import { wireText } from './text.ts';

/** A UUID as a client may write it, in either case; what comes out is lower-case. */
export const Uuid = z.guid('must be a UUID').transform((text) => text.toLowerCase());

/**
 * A UUID as this system writes it. No transform: ids are in every frame, and a plain pattern is what zod checks
 * fastest.
 */
const WrittenUuid = wireText().regex(
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  'must be a UUID in lower case',
);

/** A node: made by its agent, kept in its data directory. */
export const NodeId = WrittenUuid.brand<'NodeId'>();
export type NodeId = z.infer<typeof NodeId>;

/** A cluster. Clients name it by its name. */
export const ClusterId = WrittenUuid.brand<'ClusterId'>();
export type ClusterId = z.infer<typeof ClusterId>;

/** A command. */
export const CommandId = WrittenUuid.brand<'CommandId'>();
export type CommandId = z.infer<typeof CommandId>;

/** One command on one node. */
export const ExecutionId = WrittenUuid.brand<'ExecutionId'>();
export type ExecutionId = z.infer<typeof ExecutionId>;

/** One WebSocket connection of one agent. Made by the admin, never sent to anyone. */
export type SessionId = number & z.core.$brand<'SessionId'>;
