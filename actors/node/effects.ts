/** What nodes ask of the rows of their executions. */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { NodeMessage } from './messages.ts';

/** Of nodes. */
export type ExecutionEffect =
  /** The next open executions of this node, in creation order, come back as `executions-loaded`. */
  | { readonly type: 'load-open'; readonly limit: number; readonly except: readonly string[] }
  /** Are these open? They come back as `executions-looked-up`, with the message that asked. */
  | { readonly type: 'look-up'; readonly executions: readonly ExecutionId[]; readonly retry: NodeMessage };
