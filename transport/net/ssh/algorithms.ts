/**
 * What SSH is spoken with here: by the agent's server, and by the clients that reach nothing else. What OpenSSH of the
 * last ten years and every kept library know, and nothing of SHA-1, CBC, or small groups.
 */
import type { Algorithms } from 'ssh2';

/**
 * For ssh2, in order of preference; the client's order counts. No group exchange, in which a server chooses a prime
 * that a client checks for seconds. No compression: before the login it is an attack surface, after it rarely pays.
 */
export const SSH_ALGORITHMS: Algorithms = {
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
