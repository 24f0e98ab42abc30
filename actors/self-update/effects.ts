/** What self-update requests ask for. */

/** Of self-update requests. */
export type SelfUpdateEffect =
  /** What the rows of its nodes say: comes back as `nodes-counted`, or `count-failed`. */
  | { readonly type: 'count-self-update' }
  /** Owners look which of their nodes have their turn. */
  | { readonly type: 'wake-self-update' };
