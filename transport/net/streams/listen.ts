/** Listening on one address, with what stood in the way as a value. */
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** Connections that wait to be accepted. */
const BACKLOG_MAX = 1_024;

/** Where a server is to listen. */
export interface Place {
  readonly host: string;
  /** 0: the system picks one. */
  readonly port: number;
  /** Nobody chose this port: where it is taken by now, another one will do. */
  readonly orAnother?: boolean;
  /** Connections that wait to be accepted. Default: BACKLOG_MAX. */
  readonly backlogMax?: number;
}

/**
 * The port that it listens on; or why it does not, as the end of a sentence without the address (addresses of the VPN
 * are shown to nobody, R3), and the system's code.
 */
export type Listened =
  | { readonly ok: true; readonly port: number }
  | { readonly ok: false; readonly reason: string; readonly code: string };

/** Starts listening. Never rejects; the server can be tried again after a failure. */
export async function listenAt(server: Server, place: Place): Promise<Listened> {
  let code = await failure(server, place);
  if (place.orAnother === true && code === 'EADDRINUSE') code = await failure(server, { ...place, port: 0 });
  if (code !== null) return { ok: false, reason: REASONS[code] ?? code, code };
  return { ok: true, port: (server.address() as AddressInfo).port };
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has it',
  EACCES: 'this program may not take it',
  EADDRNOTAVAIL: 'this machine does not have the address',
};

/** Null: it listens. Else the code of what went wrong. */
async function failure(server: Server, { host, port, backlogMax = BACKLOG_MAX }: Place): Promise<string | null> {
  try {
    server.listen({ host, port, backlog: backlogMax });
    await once(server, 'listening');
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown error';
  }
}
