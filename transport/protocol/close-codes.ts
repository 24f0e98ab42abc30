/** Close codes of the control session. Source: docs/architecture.md, Sessions. */
export const CLOSE = {
  /** The admin is shutting down: connect again with back-off. */
  shuttingDown: 4000,
  /** A newer session of the same node took over: this one must not come back by itself. */
  replaced: 4001,
  /** The token was revoked or the node deleted: stop connecting. */
  revoked: 4003,
  /** Flood, oversize or a frame that breaks the contract. The reason names it. */
  policy: 4008,
  /** Another admin owns this node's cluster; the reason is its URL, or empty when it is not known yet. */
  elsewhere: 4010,
} as const;

/** The reason with which a node's session is revoked when somebody deletes the node. */
export const DELETED_REASON = 'the node was deleted';

/** The reason when somebody enrols the node anew: its token is worth nothing any more. */
export const ENROLLED_AGAIN_REASON = 'the node was enrolled again';

/** One of them. */
export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE];
