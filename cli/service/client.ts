/** What the command line knows of the service: its client, and the things that it shows. */
import type { Api, Outputs } from '../../api/client/api.ts';
import { createClient as createClientBy, type Connection } from '../../api/client/client.ts';
import { createsRetried } from './retried-creates.ts';

export type { Api, Inputs, Outputs } from '../../api/client/api.ts';
export { createLiveClient, subscribePatiently, type LiveClient, type LiveListener } from '../../api/client/client.ts';

/** As of programs of others, and sooner there. What it creates is made once, also where an answer is lost. */
export function createClient(connection: Connection, signal?: AbortSignal): Api {
  return createClientBy(connection, signal, createsRetried);
}

/** A node, as the service answers it. */
export type Node = Outputs['get_node'];
/** An execution, as the service answers it. */
export type Execution = Outputs['get_command_execution'];
/** A command, as the service answers it. */
export type Command = Outputs['get_command'];
