/**
 * One connection to a relay, from the side of the relay: first of anybody who has to prove a key, then of a client
 * whose packets are handed on.
 */
import type { Duplex } from 'node:stream';
import {
  createFrameReader,
  encodeFrame,
  FRAME,
  KEY_BYTES,
  MAGIC,
  PACKET_FRAME_BYTES_MAX,
  PING_BYTES,
  type BoxKeys,
  type FrameReader,
} from '../derp/protocol.ts';
import { Outbox } from '../../net/streams/outbox.ts';
import type { Admitted } from './admission.ts';
import type { Allowance } from './allowances.ts';
import type { RelayRefusal } from './counters.ts';
import { RelayClient, type ClientLink } from './client.ts';
import { readIntroduction, serverInfo, type Introduction } from './introduction.ts';
import {
  CLIENT_INFO_BYTES_MAX,
  FRAME_COST_BYTES,
  FRAME_COST_BYTES_MIN,
  WAITING_BYTES_MAX,
  WAITING_PACKETS_MAX,
  WRITE_BYTES_MAX,
} from './limits.ts';

/** What a connection asks of its relay, and tells it. */
export interface ConnectionOwner {
  readonly keys: BoxKeys;
  /** Bytes a second that one key may send, as clients are told it. */
  readonly bytesPerSecondMax: number;
  /** Timeout of its proof, in ms. */
  readonly handshakeMsMax: number;
  /** Null: it may not enter. Rejects when it cannot be told. */
  admit(publicKey: string, address: string): Promise<Admitted | null>;
  /** What the key of this id may send, by whichever connection. */
  allowanceOf(id: string): Allowance;
  entered(client: RelayClient): void;
  /** A packet for whoever has this id. */
  packet(from: RelayClient, to: string, packet: Buffer): void;
  dropped(): void;
  /** Once: a client that left, or one that was never admitted. */
  left(connection: ClientConnection, client: RelayClient | null, refusal: RelayRefusal | null): void;
}

interface Frame {
  readonly type: number;
  readonly payload: Buffer;
}

/** Nothing is read of it before `begin`. */
export class ClientConnection implements ClientLink {
  readonly address: string;
  readonly outbox: Outbox;
  readonly #stream: Duplex;
  readonly #owner: ConnectionOwner;
  readonly #reader: FrameReader;
  #late: NodeJS.Timeout | undefined;
  #introduction: Introduction | null = null;
  /**
   * What came with its introduction, before it is known whether it may enter: at most one read, as nothing more is read
   * then.
   */
  #early: Frame[] = [];
  #client: RelayClient | null = null;
  #allowance: Allowance | null = null;
  #framesOfChunk = 0;
  #heardAtMs = performance.now();
  #isOver = false;

  constructor(stream: Duplex, address: string, owner: ConnectionOwner) {
    this.#stream = stream;
    this.address = address;
    this.#owner = owner;
    this.outbox = new Outbox(stream, {
      bytesMax: WAITING_BYTES_MAX,
      framesMax: WAITING_PACKETS_MAX,
      writeBytesMax: WRITE_BYTES_MAX,
      drops: 'oldest',
      dropped: () => owner.dropped(),
    });
    this.#reader = createFrameReader(
      () => (this.#introduction === null ? CLIENT_INFO_BYTES_MAX : PACKET_FRAME_BYTES_MAX),
      (type, payload) => this.#frame(type, payload),
    );
  }

  get heardAtMs(): number {
    return this.#heardAtMs;
  }

  /** `head`: what was read of it. Never throws. */
  begin(head: Buffer): void {
    const { keys, handshakeMsMax } = this.#owner;
    this.#late = setTimeout(() => this.end('handshake'), handshakeMsMax).unref();
    this.#stream.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#stream.on('error', () => this.end('broken'));
    this.#stream.on('end', () => this.end('left'));
    this.#stream.on('close', () => this.end('left'));
    this.#stream.write(encodeFrame(FRAME.serverKey, MAGIC, keys.publicKey));
    if (head.length > 0) this.#take(head);
  }

  end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#late);
    this.#client?.left();
    this.outbox.close();
    this.#stream.destroy();
    this.#owner.left(this, this.#client, this.#client === null ? refusalOf(reason) : null);
  }

  #take(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#heardAtMs = performance.now();
    this.#framesOfChunk = 0;
    const problem = this.#reader.push(chunk);
    if (problem !== null) return this.end('handshake');
    const frames = this.#framesOfChunk;
    this.#spend(Math.max(chunk.length + frames * FRAME_COST_BYTES, frames * FRAME_COST_BYTES_MIN));
  }

  /** False: no more of them are wanted. */
  #frame(type: number, payload: Buffer): boolean {
    this.#framesOfChunk += 1;
    if (this.#client !== null) this.#heard(this.#client, type, payload);
    else if (this.#introduction === null) this.#introduced(type, payload);
    else this.#early.push({ type, payload });
    return !this.#isOver;
  }

  #introduced(type: number, payload: Buffer): void {
    const introduction = readIntroduction(type, payload, this.#owner.keys);
    if (introduction === null) return this.end('handshake');
    this.#introduction = introduction;
    this.#stream.pause();
    void this.#ask(introduction);
  }

  /** Never rejects. */
  async #ask(introduction: Introduction): Promise<void> {
    let admitted: Admitted | null;
    try {
      admitted = await this.#owner.admit(introduction.key.toString('base64'), this.address);
    } catch {
      return this.end('unavailable');
    }
    if (this.#isOver) return;
    if (admitted === null) this.end('unknown');
    else this.#enter(introduction, admitted);
  }

  #enter(introduction: Introduction, admitted: Admitted): void {
    const { keys, bytesPerSecondMax } = this.#owner;
    clearTimeout(this.#late);
    this.outbox.notice(serverInfo(introduction.key, keys, bytesPerSecondMax));
    const client = new RelayClient(this, introduction, admitted);
    this.#client = client;
    this.#allowance = this.#owner.allowanceOf(client.id);
    this.#owner.entered(client);
    for (const { type, payload } of this.#early) this.#heard(client, type, payload);
    this.#early = [];
    this.#stream.resume();
  }

  #heard(from: RelayClient, type: number, payload: Buffer): void {
    if (type === FRAME.sendPacket) {
      if (payload.length < KEY_BYTES) return this.end('broken');
      this.#owner.packet(from, payload.toString('latin1', 0, KEY_BYTES), payload.subarray(KEY_BYTES));
    } else if (type === FRAME.ping && payload.length >= PING_BYTES)
      this.outbox.notice(encodeFrame(FRAME.pong, payload.subarray(0, PING_BYTES)));
    // pongs, notes of a home, and frames of a mesh of relays ask for nothing
  }

  /** Who sends more than its share is read no faster. Who is not admitted yet sends next to nothing. */
  #spend(cost: number): void {
    const waitMs = this.#allowance?.spend(cost, this.#heardAtMs) ?? 0;
    if (waitMs === 0 || this.#isOver) return;
    this.#stream.pause();
    setTimeout(() => {
      this.#stream.resume();
    }, waitMs).unref();
  }
}

function refusalOf(reason: string): RelayRefusal {
  return reason === 'unknown' || reason === 'unavailable' ? reason : 'handshake';
}
