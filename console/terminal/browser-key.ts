/** A key for one terminal. Its private half cannot be read, not even by this page, and goes with it. */

/** Of OpenSSH. Source: RFC 8709. */
const ALGORITHM = 'ssh-ed25519';

/** It, as somebody signs in by it. */
export interface BrowserKey {
  /** A line of OpenSSH without a comment. */
  readonly line: string;
  readonly sign: (data: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>;
}

/** Makes one. Null: this browser makes none, or not over plain HTTP. */
export async function makeBrowserKey(): Promise<BrowserKey | null> {
  try {
    const made = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']);
    if (!('privateKey' in made)) return null;
    const raw = new Uint8Array(await crypto.subtle.exportKey('raw', made.publicKey));
    return {
      line: `${ALGORITHM} ${base64(sshBlob(ALGORITHM, raw))}`,
      sign: async (data) => new Uint8Array(await crypto.subtle.sign('Ed25519', made.privateKey, data)),
    };
  } catch {
    return null;
  }
}

/** Two strings, each after its length. Source: RFC 4251, 5; RFC 8709, 4. */
export function sshBlob(algorithm: string, key: Uint8Array): Uint8Array {
  const name = new TextEncoder().encode(algorithm);
  const blob = new Uint8Array(8 + name.length + key.length);
  const view = new DataView(blob.buffer);
  view.setUint32(0, name.length);
  blob.set(name, 4);
  view.setUint32(4 + name.length, key.length);
  blob.set(key, 8 + name.length);
  return blob;
}

/** As it goes in JSON. */
export function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

/** The bytes of it. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
