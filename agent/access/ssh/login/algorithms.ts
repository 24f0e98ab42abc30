/** Which keys may log in, and how they sign. */
import { SSH_KEY_ALGORITHMS } from '../../../../transport/protocol/ssh.ts';

/** Keys that may log in: the algorithms that the admin stores. */
export const KEY_TYPES: readonly string[] = SSH_KEY_ALGORITHMS;

/** Hashes that an RSA signature may use. Without one it is SHA-1. Source: RFC 8332. */
export const RSA_HASHES = ['sha256', 'sha512'];
