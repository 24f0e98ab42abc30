/**
 * Where other admins come in with calls. Whoever cannot prove to be one finds no such route, and nothing of what it
 * sends is read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PeerAnswer, PeerCall, PeerCallHandler } from '../../api/forwarding-ports.ts';
import { plainAddress } from '../net/addresses.ts';
import type { Log } from '../net/log.ts';
import { createAddressLimiter, type WindowLimiter } from '../net/window-limiter.ts';
import { readHeader, type ReceivedHeader } from './peer-header.ts';
import type { PeerKeys } from './peer-key.ts';
import type { Peers } from './peers.ts';
import { decodeCall, encodeAnswer } from './protocol/call.ts';
import { CALL_PATH, PEER_HEADER, PING, REACHED_HEADER } from './protocol/version.ts';
import { RecentAnswers, type WrittenAnswer } from './recent-answers.ts';
import { SeenNonces } from './seen-nonces.ts';
import {
  ANSWER_BYTES_MAX,
  ANSWER_KEPT_BYTES_MAX,
  ANSWER_KEPT_MS,
  ANSWERS_KEPT_BYTES_MAX,
  ANSWERS_KEPT_MAX,
  CALL_AGE_MS_MAX,
  NONCES_MAX,
  PEER_CALLS_MAX,
  WRONG_PROOFS_PER_MINUTE_MAX,
} from './limits.ts';

/** What the proof of a call is bound to besides its header. */
export const CALL_ROUTE = `POST ${CALL_PATH}`;

/** Addresses whose wrong proofs are remembered at once (L2). */
const ADDRESSES_MAX = 10_000;
const MINUTE_MS = 60_000;

/** Type of what is sealed. */
export const SEALED_TYPE = 'application/octet-stream';

/** What the entrance needs. */
export interface CallEntrancePorts {
  /** Id of this admin. */
  readonly adminId: string;
  readonly keys: PeerKeys;
  readonly peers: Peers;
  readonly handler: PeerCallHandler;
  /** Largest call, in bytes, with its seal. */
  readonly callBytesMax: number;
  /** By the database's clock. */
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  readonly log: Log;
  /** Default: NONCES_MAX of one process. */
  readonly noncesMax?: number;
  /** Default: PEER_CALLS_MAX of one process. */
  readonly callsMax?: number;
}

/** What came in so far. */
export interface EntranceCounters {
  /** Calls that proved to be an admin's. */
  taken: number;
  /** Requests that did not. */
  refused: number;
}

/** Calls of other admins come in here. */
export class CallEntrance {
  readonly counters: EntranceCounters = { taken: 0, refused: 0 };
  readonly #ports: CallEntrancePorts;
  readonly #nonces: SeenNonces;
  readonly #answers: RecentAnswers;
  readonly #wrongProofs: WindowLimiter;
  /** Addresses that the log has named within a minute. */
  readonly #named: WindowLimiter;
  readonly #callsMax: number;
  readonly #openOf = new Map<string, number>();
  #isClosing = false;

  constructor(ports: CallEntrancePorts) {
    this.#ports = ports;
    this.#nonces = new SeenNonces(CALL_AGE_MS_MAX, ports.noncesMax ?? NONCES_MAX);
    this.#callsMax = ports.callsMax ?? PEER_CALLS_MAX;
    this.#answers = new RecentAnswers(
      {
        answersMax: ANSWERS_KEPT_MAX,
        ms: ANSWER_KEPT_MS,
        answerBytesMax: ANSWER_KEPT_BYTES_MAX,
        bytesMax: ANSWERS_KEPT_BYTES_MAX,
      },
      ports.monotonicMs,
    );
    const byAddress = (perWindowMax: number): WindowLimiter =>
      createAddressLimiter({ perWindowMax, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX }, { nowMs: ports.monotonicMs });
    this.#wrongProofs = byAddress(WRONG_PROOFS_PER_MINUTE_MAX);
    this.#named = byAddress(1);
  }

  /**
   * Takes a request for CALL_PATH and answers it. False: it is no admin's, and to be answered as one to a path that
   * there is not. Nothing of its body was read then, unless its header was proven and its body was not that header's.
   */
  async take(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const header = request.method === 'POST' ? readHeader(request.headers[PEER_HEADER]) : null;
    if (header === null || !this.#isProven(header)) return this.#refused(request);
    if (header.said.toInstance !== this.#ports.keys.instance) return this.#misdirected(response);
    if (header.said.fromInstance === this.#ports.keys.instance) return this.#refused(request);
    const verdict = this.#verdict(header);
    if (verdict === 'seen') return this.#refused(request);
    const length = Number(request.headers['content-length'] ?? Number.NaN);
    if (!(length <= this.#ports.callBytesMax)) return end(response, 413);
    const instance = header.said.fromInstance;
    const open = this.#openOf.get(instance) ?? 0;
    if (verdict === 'full' || this.#isClosing || open >= this.#callsMax)
      return this.#answer(response, header, encodeAnswer({ type: 'busy' }));
    this.#openOf.set(instance, open + 1);
    try {
      return await this.#taken(request, response, header);
    } finally {
      const left = (this.#openOf.get(instance) ?? 1) - 1;
      if (left > 0) this.#openOf.set(instance, left);
      else this.#openOf.delete(instance);
    }
  }

  /** New calls are told that this admin is busy, and what is under way ends its connection with its answer. */
  close(): void {
    this.#isClosing = true;
  }

  /** Forgets what is too old to matter. */
  sweep(): void {
    this.#nonces.sweep(this.#ports.nowMs());
    this.#answers.sweep();
  }

  async #taken(request: IncomingMessage, response: ServerResponse, header: ReceivedHeader): Promise<boolean> {
    const { keys, log, peers } = this.#ports;
    const { fromAdmin, fromInstance } = header.said;
    const sealed = await bodyOf(request);
    if (sealed === null) return true; // whoever asked is gone
    const body = keys.openCall(header, sealed);
    if (body === null) return this.#refused(request);
    this.counters.taken += 1;
    const call = decodeCall(body);
    if (call === null) {
      log.warn({ admin: peers.nameOf(fromAdmin) ?? fromAdmin }, 'a call of an admin of another version cannot be read');
      return this.#answer(response, header, encodeAnswer({ type: 'unknown_operation' }));
    }
    const answer = await this.#answers.once(fromInstance, call.call_id, call.attempt > 1, () =>
      this.#done(call, fromAdmin),
    );
    return this.#answer(response, header, answer);
  }

  async #done(call: PeerCall, from: string): Promise<WrittenAnswer> {
    const { handler, log } = this.#ports;
    const { operation, request_id } = call;
    let answer: PeerAnswer;
    try {
      answer = operation === PING ? PONG : await handler(call, from);
    } catch (error) {
      log.error({ error, operation, request_id }, 'a call of another admin failed');
      answer = FAILED;
    }
    const bytes = encodeAnswer(answer);
    if (bytes.byteLength <= ANSWER_BYTES_MAX) return { bytes, isFinal: answer.type === 'answered' };
    log.error(
      { operation, request_id, bytes: bytes.byteLength, bytes_max: ANSWER_BYTES_MAX },
      'the answer to a call of another admin is too large',
    );
    return { bytes: encodeAnswer(FAILED), isFinal: true };
  }

  #isProven(header: ReceivedHeader): boolean {
    const { peers, keys, nowMs } = this.#ports;
    const { fromAdmin, fromInstance, sentAtMs } = header.said;
    return (
      // Itself: where the address of another admin led back here, which it is to be told.
      (peers.has(fromAdmin, fromInstance) || fromInstance === keys.instance) &&
      Math.abs(nowMs() - sentAtMs) <= CALL_AGE_MS_MAX &&
      keys.isProven(CALL_ROUTE, header)
    );
  }

  #verdict({ said: { fromInstance, nonce, sentAtMs } }: ReceivedHeader) {
    return this.#nonces.take(fromInstance, nonce, sentAtMs, this.#ports.nowMs());
  }

  #refused(request: IncomingMessage): false {
    this.counters.refused += 1;
    const address = plainAddress(request.socket.remoteAddress ?? 'unknown');
    if (this.#wrongProofs.add(address) > 0 && this.#named.add(address) === 0)
      this.#ports.log.warn({ address }, 'somebody keeps calling as an admin without the proof of one');
    return false;
  }

  /** Only who proves to be an admin is told who this is. */
  #misdirected(response: ServerResponse): true {
    response.setHeader(REACHED_HEADER, this.#ports.adminId);
    return end(response, 421);
  }

  #answer(response: ServerResponse, header: ReceivedHeader, answer: Buffer): true {
    const body = this.#ports.keys.sealAnswer(header, answer);
    if (this.#isClosing) response.setHeader('connection', 'close');
    response.writeHead(200, { 'content-type': SEALED_TYPE, 'content-length': body.byteLength });
    response.end(body);
    return true;
  }
}

const PONG: PeerAnswer = { type: 'answered', result: { ok: true, value: null } };
const FAILED: PeerAnswer = {
  type: 'answered',
  result: {
    ok: false,
    refusal: {
      code: 'internal_error',
      message: 'Something went wrong at the admin that owns this. Its log has it under the request id.',
    },
  },
};

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
