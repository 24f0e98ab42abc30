/**
 * One connection to a relay, from the side of the relay: first a stranger who has to prove a key, then a client whose
 * packets are handed on.
 */
import type { Duplex } from 'node:stream';
import { openJson, sealJson, type BoxKeys } from '../derp/box.ts';
import {
  createFrameReader,
  DERP_VERSION,
  encodeFrame,
  FRAME,
  KEY_BYTES,
  MAGIC,
  PACKET_FRAME_BYTES_MAX,
  PING_BYTES,
} from '../derp/frames.ts';
import { createOutbox, type Outbox } from '../derp/outbox.ts';
import type { Admitted } from './admission.ts';
import type { Allowance } from './allowances.ts';
import type { RelayRefusal } from './counters.ts';
import {
  BYTES_BURST_MAX,
  CLIENT_INFO_BYTES_MAX,
  FRAME_COST_BYTES,
  FRAME_COST_BYTES_MIN,
  KEEP_ALIVE_JITTER_MS,
  KEEP_ALIVE_MS,
  SILENCE_MS_MAX,
  WAITING_BYTES_MAX,
  WAITING_PACKETS_MAX,
  WRITE_BYTES_MAX,
  WRITE_MS_MAX,
} from './limits.ts';

/** A client: who it is, and the way to it. */
export interface Guest {
  /** Its key: binary, as text of one character a byte for look-ups, and as `wg` writes it. */
  readonly key: Buffer;
  readonly id: string;
  readonly publicKey: string;
  readonly address: string;
  admitted: Admitted;
  /** When it was asked last whether it is admitted, as `performance.now()`. */
  admittedAtMs: number;
  readonly outbox: Outbox;
  /** Why it should be ended now; null: it is well. */
  fault(nowMs: number): string | null;
  /** Tells it that something is wrong with its connection; empty: no more. */
  warn(problem: string): void;
  end(reason: string): void;
}

/** What a connection asks of its relay. */
export interface GuestOwner {
  readonly keys: BoxKeys;
  /** Bytes a second that one key may send, as clients are told it. */
  readonly bytesPerSecondMax: number;
  /** Patience with its proof, in ms. */
  readonly handshakeMsMax: number;
  /** Null: it may not enter. Rejects when it cannot be told. */
  admit(publicKey: string, address: string): Promise<Admitted | null>;
  /** What the key of this id may send, by whichever connection. */
  allowanceOf(id: string): Allowance;
  entered(guest: Guest): void;
  /** A packet for whoever has this id. */
  packet(from: Guest, to: string, packet: Buffer): void;
  dropped(): void;
  /** Once: a client that left, or a stranger who got no further. */
  left(guest: Guest | null, refusal: RelayRefusal | null): void;
}

/** Takes a connection over, with what was read of it. Never throws. */
export function welcome(
  stream: Duplex,
  head: Buffer,
  address: string,
  owner: GuestOwner,
): { end(reason: string): void } {
  let guest: Guest | null = null;
  let info: { readonly key: Buffer; readonly answersPings: boolean } | null = null;
  let isOver = false;
  let heardAtMs = performance.now();
  let allowance: Allowance | null = null;
  let keepAlive: NodeJS.Timeout | undefined;
  const outbox = createOutbox(stream, {
    bytesMax: WAITING_BYTES_MAX,
    framesMax: WAITING_PACKETS_MAX,
    writeBytesMax: WRITE_BYTES_MAX,
    drops: 'oldest',
    dropped: () => owner.dropped(),
  });
  let frames = 0;
  const reader = createFrameReader(
    () => (info === null ? CLIENT_INFO_BYTES_MAX : PACKET_FRAME_BYTES_MAX),
    (type, payload) => {
      frames += 1;
      if (guest !== null) heard(guest, type, payload);
      else if (info === null) introduced(type, payload);
      else early.push({ type, payload });
      return !isOver;
    },
  );
  /**
   * What came with its introduction, before it is known whether it may enter: at most one read, as nothing more is read
   * then.
   */
  let early: { readonly type: number; readonly payload: Buffer }[] = [];

  const late = setTimeout(() => end('handshake'), owner.handshakeMsMax).unref();
  stream.on('data', (chunk: Buffer) => take(chunk));
  stream.on('error', () => end('broken'));
  stream.on('end', () => end('left'));
  stream.on('close', () => end('left'));
  stream.write(encodeFrame(FRAME.serverKey, MAGIC, owner.keys.publicKey));
  if (head.length > 0) take(head);
  return { end };

  function take(chunk: Buffer): void {
    if (isOver) return;
    heardAtMs = performance.now();
    frames = 0;
    const problem = reader.push(chunk);
    if (problem !== null) return end('handshake');
    spend(Math.max(chunk.length + frames * FRAME_COST_BYTES, frames * FRAME_COST_BYTES_MIN));
  }

  function introduced(type: number, payload: Buffer): void {
    if (type !== FRAME.clientInfo || payload.length < KEY_BYTES) return end('handshake');
    const key = Buffer.from(payload.subarray(0, KEY_BYTES));
    const opened = openJson(payload.subarray(KEY_BYTES), key, owner.keys.privateKey);
    if (opened === null) return end('handshake');
    info = { key, answersPings: (opened.value as { readonly CanAckPings?: unknown } | null)?.CanAckPings === true };
    stream.pause();
    void admitted(info);
  }

  async function admitted({ key, answersPings }: NonNullable<typeof info>): Promise<void> {
    const publicKey = key.toString('base64');
    let answer: Admitted | null | 'unavailable';
    try {
      answer = await owner.admit(publicKey, address);
    } catch {
      answer = 'unavailable';
    }
    if (isOver) return;
    if (answer === null || answer === 'unavailable') return end(answer === null ? 'unknown' : 'unavailable');
    clearTimeout(late);
    outbox.notice(
      encodeFrame(
        FRAME.serverInfo,
        sealJson(
          {
            version: DERP_VERSION,
            TokenBucketBytesPerSecond: owner.bytesPerSecondMax,
            TokenBucketBytesBurst: BYTES_BURST_MAX,
          },
          key,
          owner.keys.privateKey,
        ),
      ),
    );
    guest = {
      key,
      id: idOf(key),
      publicKey,
      address,
      admitted: answer,
      admittedAtMs: performance.now(),
      outbox,
      fault: (nowMs) => faultAt(nowMs, answersPings),
      warn: (problem) => outbox.notice(encodeFrame(FRAME.health, Buffer.from(problem))),
      end,
    };
    allowance = owner.allowanceOf(guest.id);
    beKeptAlive(answersPings);
    owner.entered(guest);
    for (const { type, payload } of early) heard(guest, type, payload);
    early = [];
    stream.resume();
  }

  function heard(from: Guest, type: number, payload: Buffer): void {
    if (type === FRAME.sendPacket) {
      if (payload.length < KEY_BYTES) return end('broken');
      owner.packet(from, payload.toString('latin1', 0, KEY_BYTES), payload.subarray(KEY_BYTES));
    } else if (type === FRAME.ping && payload.length >= PING_BYTES)
      outbox.notice(encodeFrame(FRAME.pong, payload.subarray(0, PING_BYTES)));
    // pongs, notes of a home, and frames of a mesh of relays ask for nothing
  }

  /** Who sends more than its share is read no faster. Strangers send next to nothing. */
  function spend(cost: number): void {
    const waitMs = allowance?.spend(cost, heardAtMs) ?? 0;
    if (waitMs === 0 || isOver) return;
    stream.pause();
    setTimeout(() => {
      stream.resume();
    }, waitMs).unref();
  }

  function beKeptAlive(answersPings: boolean): void {
    keepAlive = setTimeout(
      () => {
        outbox.notice(encodeFrame(FRAME.keepAlive));
        if (answersPings) outbox.notice(encodeFrame(FRAME.ping, Buffer.alloc(PING_BYTES)));
        beKeptAlive(answersPings);
      },
      KEEP_ALIVE_MS + Math.random() * KEEP_ALIVE_JITTER_MS,
    ).unref();
  }

  function faultAt(nowMs: number, answersPings: boolean): string | null {
    const stuckSinceMs = outbox.stuckSinceMs();
    if (stuckSinceMs !== null && nowMs - stuckSinceMs > WRITE_MS_MAX) return 'it does not read';
    return answersPings && nowMs - heardAtMs > SILENCE_MS_MAX ? 'it does not answer' : null;
  }

  function end(reason: string): void {
    if (isOver) return;
    isOver = true;
    clearTimeout(late);
    clearTimeout(keepAlive);
    outbox.close();
    stream.destroy();
    owner.left(guest, guest === null ? refusalOf(reason) : null);
  }
}

/** A binary key as text of one character a byte: the cheapest to make and to look up. */
export function idOf(key: Buffer): string {
  return key.toString('latin1');
}

function refusalOf(reason: string): RelayRefusal {
  return reason === 'unknown' || reason === 'unavailable' ? reason : 'handshake';
}
