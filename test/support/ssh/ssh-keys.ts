/** Public keys for tests of SSH: real ones, though nobody keeps their other half. */
import { createHash, generateKeyPairSync } from 'node:crypto';

/** A public key: its line, its blob in base64, its fingerprint. */
export interface TestKey {
  readonly line: string;
  readonly blob: string;
  readonly fingerprint: string;
}

/** A new Ed25519 key. */
export function newKey(comment = 'test'): TestKey {
  const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  return keyOf('ssh-ed25519', [Buffer.from(x, 'base64url')], comment);
}

/** A key of any parts, right or wrong. */
export function keyOf(algorithm: string, parts: readonly Uint8Array[], comment = 'test'): TestKey {
  const bytes = Buffer.concat([Buffer.from(algorithm), ...parts].flatMap((part) => [lengthOf(part), part]));
  const blob = bytes.toString('base64');
  return {
    blob,
    line: `${algorithm} ${blob} ${comment}`,
    fingerprint: `SHA256:${createHash('sha256').update(bytes).digest('base64').replace(/=+$/u, '')}`,
  };
}

function lengthOf(part: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return length;
}
