/** How a Kafka broker is signed in to: what it says of the cost and of the duration is taken within bounds. */
import { saslPlain, saslScramSha, type SASLOptions } from '@platformatic/kafka';
import type { KafkaSettings } from './settings.ts';

/** Names of mechanisms on the wire. Source: RFC 4616, RFC 5802, RFC 7677. */
const MECHANISMS = { plain: 'PLAIN', scram_sha_256: 'SCRAM-SHA-256', scram_sha_512: 'SCRAM-SHA-512' } as const;

/** Of the library, by the name on the wire. */
const SCRAM_ALGORITHMS = { scram_sha_256: 'SHA-256', scram_sha_512: 'SHA-512' } as const;

/**
 * Iterations of PBKDF2 that a broker may ask for: each password holds one of libuv's few threads meanwhile, which files
 * and names wait for too. Kafka itself stores at most 16,384; this is what the client of PostgreSQL takes (pg,
 * scramMaxIterations).
 */
export const SCRAM_ITERATIONS_MAX = 100_000;

/** A session is not taken to be shorter, in ms: the client signs in anew, on the same connection, after 0.8 of it. */
export const SESSION_MS_MIN = 10_000;

/** Nor longer, in ms: 24 days. Source: Node's timers, which run at once beyond 2^31 - 1 ms. */
export const SESSION_MS_MAX = 2_073_600_000;

/** A broker asks for more than SCRAM_ITERATIONS_MAX. The message is a part of a sentence. */
export class TooManyIterations extends Error {
  constructor(iterations: number) {
    super(`it wants ${iterations} iterations for a password, more than ${SCRAM_ITERATIONS_MAX}`);
  }
}

const BOUNDED: typeof saslScramSha.defaultCrypto = {
  ...saslScramSha.defaultCrypto,
  async hi(definition, password, salt, iterations) {
    if (iterations > SCRAM_ITERATIONS_MAX) throw new TooManyIterations(iterations);
    return saslScramSha.hi(definition, password, salt, iterations);
  },
};

/** The client's options to sign in, at first and again before a session ends. */
export function kafkaSignIn({ mechanism, username, password }: NonNullable<KafkaSettings['sasl']>): SASLOptions {
  return {
    mechanism: MECHANISMS[mechanism],
    username,
    password,
    authenticate(_mechanism, connection, send, _username, _password, _token, callback) {
      const bounded: typeof callback = (error, response) => {
        if (response !== undefined) response.sessionLifetimeMs = boundedMs(response.sessionLifetimeMs);
        callback(error, response);
      };
      if (mechanism === 'plain') saslPlain.authenticate(send, connection, username, password, bounded);
      else
        saslScramSha.authenticate(send, connection, SCRAM_ALGORITHMS[mechanism], username, password, BOUNDED, bounded);
    },
  };
}

/** 0, and whatever is below it, is a session without an end. */
function boundedMs(toldMs: bigint): bigint {
  if (toldMs <= 0n) return toldMs;
  return BigInt(Math.min(Math.max(Number(toldMs), SESSION_MS_MIN), SESSION_MS_MAX));
}
