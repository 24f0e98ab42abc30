/** Bodies of those who show no key that is known here: they are read before anybody can refuse them. */
import { Transform, type Readable } from 'node:stream';
import type { FastifyRequest, preParsingHookHandler } from 'fastify';
import { refuse } from '../../actors/refusal.ts';
import { BodyRefused } from './json-body.ts';

/**
 * Bytes of such a body: what may be done without a key takes a few hundred. Beyond it 413. With a key it is
 * MAX_BODY_BYTES.
 */
export const KEYLESS_BODY_BYTES_MAX = 65_536;

const TOO_LARGE = refuse(
  'payload_too_large',
  `The body is larger than ${KEYLESS_BODY_BYTES_MAX} bytes, and no key that is known here came with it.`,
).refusal;

/** A hook of routes that let callers in once their body is there. Throws BodyRefused for one that is too large. */
export function boundKeylessBodies(isKnown: (request: FastifyRequest) => boolean): preParsingHookHandler {
  return (request, _reply, payload, done) => {
    done(null, isKnown(request) ? payload : bounded(payload as Readable));
  };
}

function bounded(payload: Readable): Transform {
  let bytes = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > KEYLESS_BODY_BYTES_MAX) done(new BodyRefused(TOO_LARGE));
      else done(null, chunk);
    },
  });
  // it may be read by nobody, where the route has an answer already: what is left of the body then goes nowhere
  limit.on('error', () => payload.unpipe(limit));
  payload.once('error', (error) => limit.destroy(error));
  return payload.pipe(limit);
}
