/**
 * What a client needs of ssh2 and ssh2 does not offer. All that is used of its insides stands here, for exactly the
 * version in package.json.
 */
/* eslint-disable no-underscore-dangle -- these are the names of ssh2's insides */
import type { Client } from 'ssh2';

interface Insides {
  readonly _protocol?: {
    readonly _handlers: { CHANNEL_DATA: (protocol: unknown, recipient: number, data: Buffer) => void };
  };
  readonly _chanMgr: {
    get(id: number): { readonly incoming?: { readonly window: number }; readonly _channel?: unknown } | undefined;
  };
}

/** Calls `violated` when the server sends more than a window, which ssh2 would keep in memory without end. */
export function guardWindows(client: Client, violated: () => void): void {
  const { _protocol: protocol, _chanMgr: channels } = client as unknown as Insides;
  if (protocol === undefined) return;
  const handle = protocol._handlers.CHANNEL_DATA;
  protocol._handlers.CHANNEL_DATA = (self, recipient, data) => {
    const window = channels.get(recipient)?.incoming?.window;
    if (window !== undefined && data.length > window) violated();
    else handle(self, recipient, data);
  };
}
