/** Nodes as the live feed brings them, for a table that is drawn again as they change. */
import type { Inputs, Node } from '../service/client.ts';
import { NODE_TABLE } from './node-table.ts';
import type { Session } from '../service/session.ts';
import { subscribePatiently } from '../../api/client/client.ts';
import { untilAborted } from './until-aborted.ts';
import { polled, type Source } from './watching.ts';

/** What is watched of them: filters of the list. */
export type NodeFilters = Omit<NonNullable<Inputs['list_nodes']>, 'page' | 'page_size' | 'sort'>;

type NodesMessage =
  | { readonly type: 'snapshot'; readonly page: number; readonly nodes: readonly Node[] }
  | {
      readonly type: 'changed';
      readonly nodes: readonly ({ readonly id: string } & Partial<Node>)[];
      readonly removed: readonly string[];
    };

/** The feed of the nodes that match. Where they are more than it takes, the list is read again and again. */
export function nodeSource(
  session: Session,
  filters: NodeFilters,
  shown: { readonly limit: number; readonly sort?: string | undefined },
): Source<Node> {
  return async (changed, signal) => {
    const nodes = new Map<string, Node>();
    let problem: string | null = null;
    const tell = (): void => changed({ rows: [...nodes.values()], problem });
    await session.api.list_nodes.query({ ...filters, page_size: 1 }); // says what is wrong, which the feed tries on with
    const live = session.live({
      open() {
        problem = null;
        tell();
      },
      lost() {
        problem = `lost ${session.connection.url}; trying again`;
        tell();
      },
    });
    try {
      await followNodes(live.api, filters, signal, (message) => {
        problem = null;
        merge(nodes, message);
        tell();
      });
    } catch (error) {
      if (!isTooMany(error)) throw error;
      await polled(
        session,
        NODE_TABLE,
        (page) => session.api.list_nodes.query({ ...filters, ...page }),
        shown,
      )(changed, signal);
    } finally {
      live.close();
    }
  };
}

/** Tells each message of the feed until `signal` aborts. Rejects with what the service refuses. */
function followNodes(
  api: ReturnType<Session['live']>['api'],
  filters: NodeFilters,
  signal: AbortSignal,
  told: (message: NodesMessage) => void,
): Promise<void> {
  return untilAborted(signal, (_ended, failed) =>
    subscribePatiently<NodesMessage>((handlers) => api.nodes.watch.subscribe(filters, handlers), {
      data: told,
      failed,
    }),
  );
}

function merge(nodes: Map<string, Node>, message: NodesMessage): void {
  if (message.type === 'snapshot') {
    if (message.page === 1) nodes.clear();
    for (const node of message.nodes) nodes.set(node.id, node);
    return;
  }
  for (const patch of message.nodes) nodes.set(patch.id, { ...nodes.get(patch.id), ...patch } as Node);
  for (const id of message.removed) nodes.delete(id);
}

function isTooMany(error: unknown): boolean {
  return error instanceof Error && /at most \d+ can be watched/u.test(error.message);
}
