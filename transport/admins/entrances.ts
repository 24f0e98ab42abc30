/** All that other admins come in by: calls as requests, calls over a connection, and news. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { CallEntrance, type CallEntrancePorts } from './call-entrance.ts';
import { CallLinkEntrance, type CallLinkEntrancePorts } from './call-link-entrance.ts';
import { NewsEntrance, type NewsEntrancePorts } from './news-entrance.ts';
import { CALL_PATH, CALLS_PATH, NEWS_PATH } from './protocol/version.ts';
import { TakenCalls, type TakenCallsPorts } from './taken-calls.ts';

/** A server that offers requests of a path before anything else looks at them. False: to be answered as unknown. */
export interface InternalServer {
  onInternal(path: string, take: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>): void;
  /** The same for upgrades. */
  onInternalUpgrade(path: string, take: (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean): void;
}

/** What they need together. */
export type EntrancesPorts = TakenCallsPorts &
  Omit<CallEntrancePorts & CallLinkEntrancePorts & NewsEntrancePorts, 'taken'>;

/** They are open from the start. */
export class Entrances {
  readonly news: NewsEntrance;
  /** Calls that came in, by whichever way. */
  readonly taken: TakenCalls;
  readonly #links: CallLinkEntrance;

  constructor(server: InternalServer, ports: EntrancesPorts) {
    const taken = new TakenCalls(ports);
    const requests = new CallEntrance({ ...ports, taken });
    const links = new CallLinkEntrance({ ...ports, taken });
    const news = new NewsEntrance(ports);
    server.onInternal(CALL_PATH, (request, response) => requests.take(request, response));
    server.onInternalUpgrade(CALLS_PATH, (request, socket, head) => links.take(request, socket, head));
    server.onInternalUpgrade(NEWS_PATH, (request, socket, head) => news.take(request, socket, head));
    this.taken = taken;
    this.#links = links;
    this.news = news;
  }

  /** Forgets what is too old to matter. */
  sweep(): void {
    this.taken.sweep();
    this.news.sweep();
  }

  /** New calls are told that this admin is busy, and those that are under way get their answers. No news is told. */
  close(): void {
    this.taken.close();
    this.#links.close();
    this.news.close();
  }
}
