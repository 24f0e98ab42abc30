/**
 * What relays and their users ask of an admin, without a credential: the map of the relays inside admins, and whether a
 * key is a member's. Not in the catalogue: the forms are those of the public DERP protocol.
 */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { DatabaseUnavailable, type Clock } from '../../actors/ports.ts';
import { refuse, UNAVAILABLE } from '../../actors/refusal.ts';
import { RELAY_ADMISSION_PATH, RELAY_MAP_PATH } from '../../transport/protocol/version.ts';
import { IN_WORDS } from '../inputs/issue-words.ts';
import { detailsOf } from '../inputs/parse.ts';
import { rateLimited } from '../principals.ts';
import { createAddressLimiter } from '../../transport/net/window-limiter.ts';
import { sendRefusal } from './answers.ts';
import { KEYLESS_BODY_BYTES_MAX } from './keyless-bodies.ts';
import { addressOf } from './requests.ts';
import type { Mount } from './server.ts';

/**
 * Keys of nobody that one address may ask for in a minute: a relay asks for every client that connects. Keys of members
 * are never hindered.
 */
const UNKNOWN_KEYS_PER_MINUTE_MAX = 600;
const ADDRESSES_MAX = 10_000;
const MINUTE_MS = 60_000;

/** What is asked. Source: tailcfg.DERPAdmitClientRequest. */
const AdmissionRequest = z.object({
  NodePublic: z.string().regex(/^nodekey:[\da-f]{64}$/u, 'must be nodekey: and 64 hexadecimal digits'),
  Source: z.string().max(64).optional(),
});

/** What these routes need. */
export interface RelayPorts {
  /** As it is published; null: no admin has a relay. */
  readonly map: () => unknown;
  /** By WireGuard public key, base64; none: it is nobody's. */
  readonly clustersOf: (publicKey: string) => Promise<readonly string[]>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** Both routes as a surface of the server. */
export function mountRelays(ports: RelayPorts): Mount {
  return ({ app }) => registerRelays(app, ports);
}

/**
 * Who asks must have a whole key of 256 bits, which only those know who are told of that member: so the answer tells
 * nobody anything new.
 */
function registerRelays(app: FastifyInstance, { map, clustersOf, clock }: RelayPorts): void {
  const unknownKeys = createAddressLimiter(
    { perWindowMax: UNKNOWN_KEYS_PER_MINUTE_MAX, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX },
    clock,
  );

  app.get(RELAY_MAP_PATH, (_request, reply) => {
    const own = map();
    return own === null
      ? sendRefusal(reply, refuse('not_found', 'No admin here has a relay of its own.').refusal)
      : reply.send(own);
  });

  app.post(RELAY_ADMISSION_PATH, { bodyLimit: KEYLESS_BODY_BYTES_MAX }, async (request, reply) => {
    const asked = AdmissionRequest.safeParse(request.body, IN_WORDS);
    if (!asked.success)
      return sendRefusal(
        reply,
        refuse('validation_failed', 'Validation failed', detailsOf(asked.error.issues, AdmissionRequest)).refusal,
      );
    const address = addressOf(request.raw);
    const key = Buffer.from(asked.data.NodePublic.slice('nodekey:'.length), 'hex').toString('base64');
    try {
      const clusters = await clustersOf(key);
      if (clusters.length > 0) return await reply.send({ Allow: true, Clusters: clusters });
    } catch (error) {
      if (error instanceof DatabaseUnavailable) return sendRefusal(reply, UNAVAILABLE);
      throw error;
    }
    const waitMs = unknownKeys.add(address);
    return waitMs > 0 ? sendRefusal(reply, rateLimited(waitMs)) : reply.send({ Allow: false });
  });
}
