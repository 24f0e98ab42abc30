/**
 * The routes that are taken over as WebSockets, for the OpenAPI document: they are no operations, and answer no
 * envelope.
 */
import { TERMINAL_PROTOCOL } from '../terminal/messages.ts';
import { TERMINAL_PATH } from '../terminal/path.ts';

/** One GET that becomes a WebSocket. */
export interface UpgradeRoute {
  readonly operationId: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** The subprotocol that a client must name. */
  readonly protocol: string;
}

/**
 * All of them. What goes over a terminal stands in docs/terminals.md and not in the AsyncAPI document, which tells of
 * events that the service sends by itself.
 */
export const UPGRADE_ROUTES: readonly UpgradeRoute[] = [
  {
    operationId: 'connect_terminal',
    path: TERMINAL_PATH,
    tag: 'terminal',
    summary: 'Connect a shell on a node, and files beside it, by WebSocket.',
    description:
      'Takes an upgrade to a WebSocket. Its messages stand in docs/terminals.md: text is one JSON object each, the first one `open`; bytes are of the shell (first byte 0) or of a file (1). With a key and without an upgrade the answer is 400.',
    protocol: TERMINAL_PROTOCOL,
  },
];
