/** Branded identifiers: a node's id cannot be passed where an execution's is wanted. */
import { z } from 'zod';

export const Uuid = z.uuid().transform((text) => text.toLowerCase());

export const NodeId = Uuid.brand<'NodeId'>();
export type NodeId = z.infer<typeof NodeId>;

export const ClusterId = Uuid.brand<'ClusterId'>();
export type ClusterId = z.infer<typeof ClusterId>;

export const CommandId = Uuid.brand<'CommandId'>();
export type CommandId = z.infer<typeof CommandId>;

export const ExecutionId = Uuid.brand<'ExecutionId'>();
export type ExecutionId = z.infer<typeof ExecutionId>;

/** One WebSocket connection of one agent. Made by the admin, never sent to anyone. */
export type SessionId = number & z.core.$brand<'SessionId'>;
