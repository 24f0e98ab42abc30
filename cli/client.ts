/** What the command line knows of the service: its client, and the things that it shows. */
import type { Api, Outputs } from '../api/client/api.ts';
import { createClient as createClientBy, type Connection } from '../api/client/client.ts';
import { plainFetch } from './plain-fetch.ts';

export type { Api, Inputs, Outputs } from '../api/client/api.ts';
export { createLiveClient, type LiveClient, type LiveListener } from '../api/client/client.ts';

/** As of programs of others, and sooner there. */
export function createClient(connection: Connection, signal?: AbortSignal): Api {
  return createClientBy(connection, signal, plainFetch);
}

/** A node, as the service answers it. */
export type Node = Outputs['get_node'];
/** An execution, as the service answers it. */
export type Execution = Outputs['get_command_execution'];
/** A command, as the service answers it. */
export type Command = Outputs['get_command'];
