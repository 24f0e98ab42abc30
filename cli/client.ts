/** What the command line knows of the service: its client, and the things that it shows. */
import type { Outputs } from '../api/client/api.ts';

export type { Api, Inputs, Outputs } from '../api/client/api.ts';
export { createClient, createLiveClient, type LiveClient, type LiveListener } from '../api/client/client.ts';

/** A node, as the service answers it. */
export type Node = Outputs['get_node'];
/** An execution, as the service answers it. */
export type Execution = Outputs['get_command_execution'];
/** A command, as the service answers it. */
export type Command = Outputs['get_command'];
