/** Where other admins open connections of calls. Whoever cannot prove to be one finds no such route. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../net/log.ts';
import { LINK_CALL_BYTES_MAX, LINK_UNSENT_BYTES_MAX, CALL_SLACK_BYTES } from './limits.ts';
import type { MessageSeals } from './message-seals.ts';
import type { PeerHeader } from './peer-header.ts';
import { decodeNumbered, encodeNumbered, LINK_WORDS } from './protocol/call-link.ts';
import { CALLS_PATH } from './protocol/version.ts';
import { SealedEntrance, type SealedEntrancePorts } from './sealed-connections.ts';
import { SealedSocket } from './sealed-socket.ts';
import { BUSY, type TakenCalls } from './taken-calls.ts';

/** What the entrance needs. */
export interface CallLinkEntrancePorts extends SealedEntrancePorts {
  readonly taken: TakenCalls;
  /** By the database. */
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** One connection a process: a newer one ends the one before. */
export class CallLinkEntrance {
  readonly #ports: CallLinkEntrancePorts;
  readonly #entrance: SealedEntrance;
  readonly #open = new Map<string, SealedSocket>();

  constructor(ports: CallLinkEntrancePorts) {
    this.#ports = ports;
    const sizes = { path: CALLS_PATH, messageBytesMax: LINK_CALL_BYTES_MAX + CALL_SLACK_BYTES };
    this.#entrance = new SealedEntrance(sizes, ports, (socket, seals, from) => this.#opened(socket, seals, from));
  }

  /** Takes an upgrade of CALLS_PATH. False: it is no admin's, and to be refused as one of a path that there is not. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    return this.#entrance.take(request, socket, head);
  }

  /** What is under way gets its answer. The others are told to send no more, and end the connections then. */
  close(): void {
    this.#entrance.close();
    for (const socket of this.#open.values()) socket.send(LINK_WORDS.leaving);
  }

  /** How many are open. */
  open(): number {
    return this.#open.size;
  }

  #opened(opened: WebSocket, seals: MessageSeals, from: PeerHeader): void {
    const { clock, monotonicMs, log } = this.#ports;
    const socket: SealedSocket = new SealedSocket(
      opened,
      { seals, clock, monotonicMs },
      {
        heard: (message) => {
          this.#heard(socket, from, message).catch((error: unknown) => {
            log.error({ error }, 'a call of another admin failed');
            socket.close('met a fault of this admin');
          });
        },
        closed: () => {
          if (this.#open.get(from.fromInstance) === socket) this.#open.delete(from.fromInstance);
        },
      },
    );
    this.#open.get(from.fromInstance)?.close('was replaced by a newer one');
    this.#open.set(from.fromInstance, socket);
  }

  async #heard(socket: SealedSocket, from: PeerHeader, message: Buffer): Promise<void> {
    const said = decodeNumbered(message);
    if (said === null) return;
    if (said.n > 0) say(socket, encodeNumbered(said.n, await this.#answered(from, said.body)));
    else if (message.equals(LINK_WORDS.ping)) say(socket, LINK_WORDS.pong);
  }

  async #answered(from: PeerHeader, body: Buffer): Promise<Buffer> {
    const { taken } = this.#ports;
    const end = taken.begin(from.fromInstance);
    if (end === null) return BUSY;
    try {
      return await taken.answered(from, body);
    } finally {
      end();
    }
  }
}

function say(socket: SealedSocket, message: Buffer): void {
  if (socket.unsentBytes > LINK_UNSENT_BYTES_MAX) socket.close('does not read its answers');
  else socket.send(message);
}
