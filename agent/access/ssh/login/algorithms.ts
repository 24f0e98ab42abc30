/**
 * What this server speaks: what OpenSSH of the last ten years and every kept library know, and nothing of SHA-1, CBC,
 * or small groups.
 */
import type { ServerConfig } from 'ssh2';
import { SSH_KEY_ALGORITHMS } from '../../../../transport/protocol/ssh.ts';

/**
 * For ssh2, in order of preference; the client's order counts. No compression: before the login it is an attack
 * surface, after it rarely pays.
 */
export const ALGORITHMS: NonNullable<ServerConfig['algorithms']> = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
  ],
  serverHostKey: ['ssh-ed25519'],
  cipher: [
    'aes128-gcm@openssh.com',
    'aes256-gcm@openssh.com',
    'chacha20-poly1305@openssh.com',
    'aes128-ctr',
    'aes192-ctr',
    'aes256-ctr',
  ],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com'],
  compress: ['none'],
};

/** Keys that may log in: the algorithms that the admin stores. Source: spec, SSH public key. */
export const KEY_TYPES: readonly string[] = SSH_KEY_ALGORITHMS;

/** Hashes that an RSA signature may use. Without one it is SHA-1. Source: RFC 8332. */
export const RSA_HASHES = ['sha256', 'sha512'];
