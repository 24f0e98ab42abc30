/**
 * Public keys as OpenSSH writes them: one line of algorithm, base64 and comment. Pure: a line is a key, or there is one
 * sentence on why not.
 */
import { SSH_KEY_CHARS_MAX } from '../../transport/protocol/limits.ts';
import { fingerprintOf, SSH_KEY_ALGORITHMS, type SshKeyAlgorithm } from '../../transport/protocol/ssh.ts';
import { isCurvePoint, isEd25519Point, type CurveName } from './curves.ts';
import { mistakeIn } from './public-key-mistakes.ts';

/** Characters of a whole line with its comment, at most. */
export const PUBLIC_KEY_LINE_CHARS_MAX = 8_192;

/**
 * Size of the modulus of an RSA key, in bits. Below, it can be broken (NIST SP 800-131A); above, OpenSSH itself takes
 * none (SSHBUF_MAX_BIGNUM).
 */
export const RSA_BITS_MIN = 2_048;
export const RSA_BITS_MAX = 16_384;

/**
 * Size of the public exponent of an RSA key, in bits: what common verifiers take (OPENSSL_RSA_MAX_PUBEXP_BITS is 64).
 */
const RSA_EXPONENT_BITS_MAX = 64;

/** A key that was understood. */
export interface SshPublicKey {
  readonly algorithm: SshKeyAlgorithm;
  /** The line as it is kept: its parts with one space between them. */
  readonly line: string;
  /** `SHA256:` and the hash of the blob, as `ssh-keygen -l` shows it. */
  readonly fingerprint: string;
}

/** What a line turned out to be. `problem` completes "The public key …". */
export type ParsedPublicKey =
  | { readonly ok: true; readonly key: SshPublicKey }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads a line. The blob must say the same algorithm as the line, have exactly its fields in their only encoding, hold
 * a point that is on its curve or a modulus of RSA_BITS_MIN to RSA_BITS_MAX, and end there. White space around the line
 * is left out.
 */
export function parsePublicKey(text: string): ParsedPublicKey {
  const line = text.trim();
  if (line.length > PUBLIC_KEY_LINE_CHARS_MAX) return wrong(`must be at most ${PUBLIC_KEY_LINE_CHARS_MAX} characters`);
  const mistake = mistakeIn(line, SSH_KEY_ALGORITHMS);
  if (mistake !== null) return wrong(mistake);

  const [algorithm = '', base64 = '', comment = ''] = partsOf(line);
  if (!isAlgorithm(algorithm)) return wrong(`must begin with one of ${SSH_KEY_ALGORITHMS.join(', ')}`);
  const blob = blobOf(base64);
  if (blob === null)
    return wrong(`has something else than base64 behind ${algorithm}: it was cut or changed on the way`);
  const problem = problemOf(algorithm, blob);
  if (problem !== null) return wrong(problem);
  const canonical = Buffer.from(blob).toString('base64');
  return {
    ok: true,
    key: { algorithm, line: [algorithm, canonical, comment].join(' ').trimEnd(), fingerprint: fingerprintOf(blob) },
  };
}

/** Algorithm, base64, and the rest. */
function partsOf(line: string): readonly string[] {
  const match = /^(\S+)[ \t]+(\S+)(?:[ \t]+(.*))?$/u.exec(line);
  return match === null ? [line] : match.slice(1);
}

function isAlgorithm(word: string): word is SshKeyAlgorithm {
  return SSH_KEY_ALGORITHMS.some((algorithm) => algorithm === word);
}

/** Padding may be left out; but bits that are in no byte must be zero, so that a blob has one text only. */
function blobOf(base64: string): Uint8Array | null {
  if (base64.length > SSH_KEY_CHARS_MAX || !/^[A-Za-z0-9+/]+={0,2}$/u.test(base64)) return null;
  const blob = Buffer.from(base64, 'base64');
  const written = blob.toString('base64');
  return written === base64 || written.replace(/=+$/u, '') === base64 ? blob : null;
}

function problemOf(algorithm: SshKeyAlgorithm, blob: Uint8Array): string | null {
  const fields = fieldsOf(blob);
  if (fields === null) return 'is cut off or damaged: its parts do not have the lengths that it says';
  const named = Buffer.from(fields[0] ?? []).toString('latin1');
  if (named !== algorithm)
    return `says ${algorithm}, but holds ${isAlgorithm(named) ? `a key for ${named}` : 'something else'}`;
  const values = fields.slice(1);
  if (algorithm === 'ssh-rsa') return rsaProblem(values);
  return algorithm === 'ssh-ed25519'
    ? ed25519Problem(values)
    : ecdsaProblem(values, algorithm.slice('ecdsa-sha2-'.length) as CurveName);
}

/**
 * The strings that a blob is made of, each behind its length in four bytes (RFC 4251, 5); null when they do not end
 * where it does.
 */
function fieldsOf(blob: Uint8Array): readonly Uint8Array[] | null {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  const fields: Uint8Array[] = [];
  let at = 0;
  while (at < blob.length) {
    if (blob.length - at < 4) return null;
    const length = view.getUint32(at);
    at += 4;
    if (length > blob.length - at) return null;
    fields.push(blob.subarray(at, at + length));
    at += length;
  }
  return fields;
}

const MISSHAPEN = 'is damaged: it does not have the parts of its algorithm';
const OFF_CURVE = 'is damaged: its point is not on the curve';

/** RFC 8709, 4. */
function ed25519Problem([point, ...rest]: readonly Uint8Array[]): string | null {
  if (point?.length !== 32 || rest.length > 0) return MISSHAPEN;
  return isEd25519Point(point) ? null : OFF_CURVE;
}

/** RFC 5656, 3.1. The point is uncompressed, as all clients write it. */
function ecdsaProblem([name, point, ...rest]: readonly Uint8Array[], curve: CurveName): string | null {
  if (name === undefined || point === undefined || rest.length > 0 || Buffer.from(name).toString('latin1') !== curve)
    return MISSHAPEN;
  return isCurvePoint(curve, point) ? null : OFF_CURVE;
}

/** RFC 4253, 6.6: exponent, then modulus. */
function rsaProblem([exponentBytes, modulusBytes, ...rest]: readonly Uint8Array[]): string | null {
  const exponent = exponentBytes === undefined ? null : positive(exponentBytes);
  const modulus = modulusBytes === undefined ? null : positive(modulusBytes);
  if (exponent === null || modulus === null || rest.length > 0) return MISSHAPEN;
  const bits = bitsOf(modulus);
  if (bits < RSA_BITS_MIN)
    return `is an RSA key of ${bits} bits, which is too weak: it must have ${RSA_BITS_MIN} or more (or better, make one with ssh-keygen -t ed25519)`;
  if (bits > RSA_BITS_MAX) return `is an RSA key of ${bits} bits: it must have ${RSA_BITS_MAX} at most`;
  if ((modulus & 1n) === 0n) return 'is damaged: its RSA modulus is even';
  if ((exponent & 1n) === 0n || exponent < 3n || bitsOf(exponent) > RSA_EXPONENT_BITS_MAX)
    return 'is damaged: its RSA exponent is not one';
  return null;
}

/** A positive integer in its only encoding (RFC 4251, 5, mpint); null for any other. */
function positive(bytes: Uint8Array): bigint | null {
  const [first, second] = bytes;
  if (first === undefined || first >= 0x80 || (first === 0 && (second === undefined || second < 0x80))) return null;
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

function bitsOf(value: bigint): number {
  return value.toString(2).length;
}

function wrong(problem: string): ParsedPublicKey {
  return { ok: false, problem };
}
