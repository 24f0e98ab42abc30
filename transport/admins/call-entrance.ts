/**
 * Where other admins come in with calls. Whoever cannot prove to be one finds no such route, and nothing of what it
 * sends is read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ReceivedHeader } from './peer-header.ts';
import type { PeerKeys } from './peer-key.ts';
import type { PeerProofs } from './peer-proofs.ts';
import { CALL_PATH, REACHED_HEADER } from './protocol/version.ts';
import { BUSY, type TakenCalls } from './taken-calls.ts';

/** What the proof of a call is bound to besides its header. */
export const CALL_ROUTE = `POST ${CALL_PATH}`;

/** Type of what is sealed. */
export const SEALED_TYPE = 'application/octet-stream';

/** What the entrance needs. */
export interface CallEntrancePorts {
  /** Id of this admin. */
  readonly adminId: string;
  readonly keys: PeerKeys;
  readonly proofs: PeerProofs;
  readonly taken: TakenCalls;
  /** Largest call, in bytes, with its seal. */
  readonly callBytesMax: number;
}

/** Calls of other admins come in here, one a request. */
export class CallEntrance {
  readonly #ports: CallEntrancePorts;

  constructor(ports: CallEntrancePorts) {
    this.#ports = ports;
  }

  /**
   * Takes a request for CALL_PATH and answers it. False: it is no admin's, and to be answered as one to a path that
   * there is not. Nothing of its body was read then, unless its header was proven and its body was not that header's.
   */
  async take(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const { proofs, taken, callBytesMax } = this.#ports;
    if (request.method !== 'POST') return this.#refused(request);
    const proof = proofs.judge(CALL_ROUTE, request);
    if (proof.type === 'unproven') return this.#refused(request);
    if (proof.type === 'misdirected') return this.#misdirected(response);
    const { header } = proof;
    const length = Number(request.headers['content-length'] ?? Number.NaN);
    if (!(length <= callBytesMax)) return end(response, 413);
    const over = proof.type === 'full' ? null : taken.begin(header.said.fromInstance);
    if (over === null) return this.#answer(response, header, BUSY);
    try {
      return await this.#taken(request, response, header);
    } finally {
      over();
    }
  }

  async #taken(request: IncomingMessage, response: ServerResponse, header: ReceivedHeader): Promise<boolean> {
    const sealed = await bodyOf(request);
    if (sealed === null) return true; // whoever asked is gone
    const { keys, taken } = this.#ports;
    const body = keys.openCall(header, sealed);
    if (body === null) return this.#refused(request);
    return this.#answer(response, header, await taken.answered(header.said, body));
  }

  #refused(request: IncomingMessage): false {
    this.#ports.proofs.refused(request);
    return false;
  }

  /** Only who proves to be an admin is told who this is. */
  #misdirected(response: ServerResponse): true {
    response.setHeader(REACHED_HEADER, this.#ports.adminId);
    return end(response, 421);
  }

  #answer(response: ServerResponse, header: ReceivedHeader, answer: Buffer): true {
    const { keys, taken } = this.#ports;
    const body = keys.sealAnswer(header, answer);
    if (taken.isClosing) response.setHeader('connection', 'close');
    response.writeHead(200, { 'content-type': SEALED_TYPE, 'content-length': body.byteLength });
    response.end(body);
    return true;
  }
}

function end(response: ServerResponse, status: number): true {
  response.writeHead(status, { 'content-length': 0 });
  response.end();
  return true;
}

/** As long as the request says, which Node holds it to. Null: it broke off. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of request) pieces.push(piece as Buffer);
  } catch {
    return null;
  }
  return Buffer.concat(pieces);
}
