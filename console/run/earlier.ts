/** An earlier command, and the nodes on which it is to run again. */
import { subscribePatiently } from '../../api/client/client.ts';
import { messageOf } from '../failure.ts';
import type { CommandMessage } from '../../api/feeds/commands.ts';
import type { CommandResource } from '../../actors/resources/command.ts';
import type { Api } from '../../api/client/api.ts';
import { ExecutionRows } from './execution-rows.ts';
import { resultOf, type Grouped } from './grouping.ts';

/** What was run, and where. */
export interface Earlier {
  readonly command: CommandResource;
  /** Where it has ended. */
  readonly ended: readonly string[];
  /** Of these where it did not succeed. */
  readonly failed: readonly string[];
}

/** Reads it. Rejects with what the service says. Nodes that are gone, or on which it still runs, are left out. */
export function earlierCommand(api: Api, id: string): { readonly found: Promise<Earlier>; readonly stop: () => void } {
  const rows = new ExecutionRows();
  const { promise, resolve, reject } = Promise.withResolvers<Earlier>();
  const subscription = subscribePatiently<CommandMessage>(
    (handlers) => api.commands.watch.subscribe({ id }, handlers),
    {
      data: (message) => {
        rows.apply(message);
        if (rows.command === null) return;
        subscription.unsubscribe();
        resolve(earlierOf(rows.command, [...rows.values()]));
      },
      failed: (error) => reject(new Error(messageOf(error))),
    },
  );
  return { found: promise, stop: () => subscription.unsubscribe() };
}

/** What of its executions matters. */
export function earlierOf(
  command: CommandResource,
  executions: readonly (Grouped & { readonly node_id: string })[],
): Earlier {
  const ended = executions.filter((one) => !['pending', 'running', 'dropped'].includes(resultOf(one)));
  return {
    command,
    ended: ended.map(({ node_id: node }) => node),
    failed: ended.filter((one) => resultOf(one) !== 'succeeded').map(({ node_id: node }) => node),
  };
}
