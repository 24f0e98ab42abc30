/** The bytes of the ledger: a header and records of one size, each with a checksum. */
import { crc32 } from 'node:zlib';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';

/** Bytes of a record, and of the header. A power of two: no record lies across two sectors of a disk. */
export const RECORD_BYTES = 128;

/** Raised when an older agent could not read what is written. */
export const LEDGER_VERSION = 1;

/** `confirmed`: an admin has the result. */
export type RecordState = 'started' | 'ended' | 'confirmed';

/**
 * One execution. `order` rises from one execution to the next, and stays as its record changes: the oldest make room
 * first.
 */
export interface LedgerRecord {
  readonly execution: ExecutionId;
  readonly state: RecordState;
  readonly order: number;
  /** Name of its exec shim: 24 hex digits. */
  readonly shim: string | null;
  readonly outcome: 'completed' | 'cancelled' | null;
  /** -1 to 255. */
  readonly exitCode: number;
  readonly outputBytes: number;
  /** SHA-256. */
  readonly outputHash: Buffer;
}

const MAGIC = 'edge executions\n';
const STATES: readonly (RecordState | null)[] = [null, 'started', 'ended', 'confirmed'];
const OUTCOMES = [null, 'completed', 'cancelled'] as const;

/** Where what is: checksum, state, outcome, exit code, order, execution, exec shim, bytes and hash of the output. */
const AT = {
  checksum: 0,
  state: 4,
  outcome: 5,
  exitCode: 6,
  order: 8,
  execution: 16,
  shim: 32,
  outputBytes: 44,
  outputHash: 52,
} as const;

/** The start of a file of this version, or of another. */
export function encodeHeader(version = LEDGER_VERSION): Buffer {
  const header = Buffer.alloc(RECORD_BYTES);
  header.write(MAGIC, AT.state, 'latin1');
  header.writeUInt32LE(version, AT.state + MAGIC.length);
  return sealed(header);
}

/** Its version; null when it is no such header. */
export function decodeHeader(header: Buffer): number | null {
  if (!isSealed(header) || header.toString('latin1', AT.state, AT.state + MAGIC.length) !== MAGIC) return null;
  return header.readUInt32LE(AT.state + MAGIC.length);
}

/** A record as bytes. An exec shim of another form than ours is not kept. */
export function encodeRecord(record: LedgerRecord): Buffer {
  const bytes = Buffer.alloc(RECORD_BYTES);
  bytes.writeUInt8(STATES.indexOf(record.state), AT.state);
  bytes.writeUInt8(OUTCOMES.indexOf(record.outcome), AT.outcome);
  bytes.writeInt16LE(record.exitCode, AT.exitCode);
  bytes.writeBigUInt64LE(BigInt(record.order), AT.order);
  bytes.write(record.execution.replaceAll('-', ''), AT.execution, 'hex');
  if (record.shim !== null && /^[\da-f]{24}$/u.test(record.shim)) bytes.write(record.shim, AT.shim, 'hex');
  bytes.writeBigUInt64LE(BigInt(record.outputBytes), AT.outputBytes);
  record.outputHash.copy(bytes, AT.outputHash);
  return sealed(bytes);
}

/** Null: nothing was written there yet. */
export function decodeRecord(bytes: Buffer): LedgerRecord | null | 'damaged' {
  if (!isSealed(bytes)) return bytes.every((byte) => byte === 0) ? null : 'damaged';
  const state = STATES[bytes.readUInt8(AT.state)];
  const outcome = OUTCOMES[bytes.readUInt8(AT.outcome)];
  if (state == null || outcome === undefined) return 'damaged';
  const shim = bytes.toString('hex', AT.shim, AT.outputBytes);
  return {
    execution: uuidOf(bytes.toString('hex', AT.execution, AT.shim)),
    state,
    order: Number(bytes.readBigUInt64LE(AT.order)),
    shim: /^0+$/u.test(shim) ? null : shim,
    outcome,
    exitCode: bytes.readInt16LE(AT.exitCode),
    outputBytes: Number(bytes.readBigUInt64LE(AT.outputBytes)),
    outputHash: Buffer.from(bytes.subarray(AT.outputHash, AT.outputHash + 32)),
  };
}

function sealed(bytes: Buffer): Buffer {
  bytes.writeUInt32LE(crc32(bytes.subarray(AT.state)), AT.checksum);
  return bytes;
}

/** A block of zeros is not: its checksum would be another. */
function isSealed(bytes: Buffer): boolean {
  return bytes.length === RECORD_BYTES && bytes.readUInt32LE(AT.checksum) === crc32(bytes.subarray(AT.state));
}

function uuidOf(hex: string): ExecutionId {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join(
    '-',
  ) as ExecutionId;
}
