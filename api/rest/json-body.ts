/**
 * Reads JSON bodies. Depth and members are counted on the bytes first: JSON.parse takes 200,000 levels, and whatever
 * walks the result then overflows the stack; and 100,000 members that a schema refuses one by one, each in words, take
 * half a second.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { refuse, type Refusal } from '../../actors/refusal.ts';

/** Deepest nesting of objects and arrays. The deepest input of the catalogue has 4 levels. */
export const BODY_DEPTH_MAX = 32;

/** Members of all objects of a body: 32 calls of tRPC, each with all labels that a node may have, have some 2,300. */
export const BODY_MEMBERS_MAX = 8_192;

/** A refusal thrown through the framework, which knows only errors. */
export class BodyRefused extends Error {
  override readonly name = 'BodyRefused';
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

const MALFORMED = refuse('bad_request', 'The body is not valid JSON.').refusal;
const TOO_DEEP = refuse('bad_request', `The body is nested deeper than ${BODY_DEPTH_MAX} levels.`).refusal;
const tooMany = (membersMax: number): Refusal =>
  refuse('bad_request', `The body has more than ${membersMax} members of objects.`).refusal;
const POISONED = refuse(
  'bad_request',
  'The body has a key that is not allowed: __proto__ or constructor.prototype.',
).refusal;

/** Makes JSON the one body type. An empty body is none. */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      refuseEncoded(request.headers);
      done(null, parseJson(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

const NOT_UTF8 = refuse('unsupported_media_type', 'The body must be UTF-8, the one charset of JSON (RFC 8259).', {
  'Content-Type': ['must be application/json'],
}).refusal;
const ENCODED = refuse('unsupported_media_type', 'The body must not be compressed.', {
  'Content-Encoding': ['must be left out'],
}).refusal;

/** Throws BodyRefused for a body that says of itself that it is no plain UTF-8. */
export function refuseEncoded(headers: IncomingHttpHeaders): void {
  const charset = /;\s*charset="?(?<name>[^";\s]*)/iu.exec(headers['content-type'] ?? '')?.groups?.['name'] ?? 'utf-8';
  if (!/^(?:utf-?8|us-ascii)$/iu.test(charset)) throw new BodyRefused(NOT_UTF8);
  if (!/^(?:identity)?$/iu.test(headers['content-encoding'] ?? '')) throw new BodyRefused(ENCODED);
}

/**
 * Bytes to a value. Throws BodyRefused for what is no UTF-8 JSON, too deep, of too many members, or holds keys that
 * poison prototypes.
 */
export function parseJson(body: Buffer, membersMax = BODY_MEMBERS_MAX): unknown {
  if (body.length === 0) return undefined;
  const { depth, members } = shapeOf(body, membersMax);
  if (depth > BODY_DEPTH_MAX) throw new BodyRefused(TOO_DEEP);
  if (members > membersMax) throw new BodyRefused(tooMany(membersMax));
  if (!isUtf8(body)) throw new BodyRefused(MALFORMED);
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch (error) {
    throw new BodyRefused(malformed(error));
  }
  if (body.includes(PROTO) || body.includes(CONSTRUCTOR) || body.includes(ESCAPE)) refusePoison(value);
  return value;
}

/** Where it stopped being JSON. Nothing of the body itself is told: it may hold secrets (E4). */
function malformed(error: unknown): Refusal {
  const place = /\(line (?<line>\d+) column (?<column>\d+)\)$/u.exec((error as Error).message)?.groups;
  return place === undefined
    ? MALFORMED
    : refuse('bad_request', MALFORMED.message, {
        body: [`is not JSON at line ${place['line']}, column ${place['column']}`],
      }).refusal;
}

/** Cheap signs that a poisonous key may be there: as written, or spelled with escapes. */
const PROTO = Buffer.from('__proto__');
const CONSTRUCTOR = Buffer.from('constructor');
const ESCAPE = Buffer.from('\\u');

function refusePoison(value: unknown): void {
  if (value === null || typeof value !== 'object') return;
  if (Object.hasOwn(value, '__proto__')) throw new BodyRefused(POISONED);
  const made = Object.hasOwn(value, 'constructor') ? (value as { readonly constructor: unknown }).constructor : null;
  if (made !== null && typeof made === 'object' && Object.hasOwn(made, 'prototype')) throw new BodyRefused(POISONED);
  for (const part of Object.values(value)) refusePoison(part);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/**
 * Deepest nesting and number of members, outside of strings; stops counting once there is too much of either. One pass
 * over the bytes, about 1 ns each.
 */
function shapeOf(body: Buffer, membersMax: number): { readonly depth: number; readonly members: number } {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let inString = false;
  for (let at = 0; at < body.length && deepest <= BODY_DEPTH_MAX && members <= membersMax; at += 1) {
    const byte = body[at];
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === 0x7b || byte === 0x5b) deepest = Math.max(deepest, (depth += 1));
    else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    else if (byte === COLON) members += 1;
  }
  return { depth: deepest, members };
}
