/**
 * Listening for people and for admins: at the addresses and the port of the settings, and in any case where admins come
 * from.
 */
import type { Server } from 'node:net';
import { listenAt } from '../transport/net/streams/listen.ts';

/** Where this process itself listens: an address of loopback, and a port that no other program has there. */
export interface OwnPlace {
  readonly address: string;
  readonly port: number;
}

/** An address at which a server does not listen: the end of a sentence without it (R3), and the system's code. */
export interface NotListened {
  readonly host: string;
  readonly port: number;
  readonly reason: string;
  readonly code: string;
}

/** What came of it. */
export interface Listened<S extends Server> {
  /** The port of the settings, or the one that was picked; null: it listens at none of the addresses. */
  readonly port: number | null;
  /** Where streams of admins go; null: nowhere. */
  readonly place: OwnPlace | null;
  readonly servers: readonly S[];
  readonly failures: readonly NotListened[];
}

/** What is to listen. */
export interface ListenOptions<S extends Server> {
  /** Addresses of this machine, loopback among them: see `withLoopback`. */
  readonly hosts: readonly string[];
  /** 0: any that is free. */
  readonly port: number;
  /** Nobody chose the port: where it is taken by now, another one will do. */
  readonly orAnother: boolean;
  readonly newServer: () => S;
}

/** Addresses by which loopback is reached at a server that listens on these. */
const LOOPBACK_OF: Readonly<Record<string, string>> = {
  '127.0.0.1': '127.0.0.1',
  '0.0.0.0': '127.0.0.1',
  '::1': '::1',
  '::': '::1',
};

/**
 * Listens wherever it can. Where another program has the port on loopback, admins get one of their own there: they
 * never reach that program in its place. Never rejects.
 */
export async function listenForAdmins<S extends Server>(options: ListenOptions<S>): Promise<Listened<S>> {
  const { hosts, orAnother, newServer } = options;
  const servers: S[] = [];
  const failures: NotListened[] = [];
  let { port } = options;
  let place: OwnPlace | null = null;
  for (const host of hosts) {
    const server = newServer();
    const listened = await listenAt(server, { host, port, orAnother: orAnother && servers.length === 0 });
    if (!listened.ok) {
      failures.push({ host, port, reason: listened.reason, code: listened.code });
      continue;
    }
    ({ port } = listened);
    servers.push(server);
    const address = LOOPBACK_OF[host];
    if (address !== undefined) place ??= { address, port };
  }
  const got = servers.length === 0 ? null : port;
  if (place === null && hosts.length > 0) place = await ownPlace(newServer(), servers);
  return { port: got, place, servers, failures };
}

async function ownPlace<S extends Server>(server: S, servers: S[]): Promise<OwnPlace | null> {
  const address = '127.0.0.1';
  const listened = await listenAt(server, { host: address, port: 0 });
  if (!listened.ok) return null;
  servers.push(server);
  return { address, port: listened.port };
}
