/** Close codes of the control session. Source: docs/architecture/sessions.md. */
export const CLOSE = {
  /** The admin is shutting down, or wants another session: connect again with back-off. */
  shuttingDown: 4000,
  /** A newer session of the same node took over: this one must not come back by itself. */
  replaced: 4001,
  /**
   * The token is worth nothing any more. The reason says why: where the node was deleted, or is another machine now,
   * its agent stops; else it may have been enrolled again by a try of its own that came late.
   */
  revoked: 4003,
  /** Flood, oversize or a frame that breaks the contract. The reason names it. */
  policy: 4008,
  /** Another admin owns this node's cluster; the reason is its URL, or empty when it is not known yet. */
  elsewhere: 4010,
} as const;

/** The reason with which a node's session is revoked when somebody deletes the node. */
export const DELETED_REASON = 'the node was deleted';

/** The reason when another machine has become the node by its recovery key. */
export const RECOVERED_REASON = 'another machine is this node now';

/** The reason when a machine with the secret of the node enrolled it again, which may be the one that hears this. */
export const ENROLLED_AGAIN_REASON = 'the node was enrolled again';

/** The reason when it is not known whether the token is still good: whoever comes back is told. */
export const IN_DOUBT_REASON = 'what became of the node is in doubt: come again';

/** One of them. */
export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE];
