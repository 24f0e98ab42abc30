/** The REST routes, made from the catalogue. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuse } from '../../actors/refusal.ts';
import type { CallOperation } from '../call.ts';
import type { Listing } from '../listing.ts';
import { pathParameters, type AnyOperation, type RestRoute } from '../operation.ts';
import { Malformed } from '../inputs/parse.ts';
import type { Caller, Gate } from '../principals.ts';
import { sendData, sendRefusal } from './answers.ts';
import { callerOf } from './requests.ts';

/** Where all operations live. Source: docs/api.md. */
export const API_PREFIX = '/api/v1';

/**
 * Offers every operation that has a route. Callers are let in before their body is read, so that strangers cost little.
 */
export function registerOperations(
  app: FastifyInstance,
  operations: readonly AnyOperation[],
  call: CallOperation,
  gate: Gate,
): void {
  const admittedCallers = new WeakMap<FastifyRequest, Caller>();
  for (const operation of operations) {
    const { rest, scope } = operation;
    if (rest === null) continue;
    const inputOf = rest.method === 'GET' ? queryInput : bodyInput(pathParameters(rest.path));
    app.route({
      method: rest.method,
      url: API_PREFIX + rest.path,
      config: { operation: operation.name },
      onRequest: (request, reply, next) => {
        const caller = callerOf(request, 'rest');
        const admitted = gate.admit(scope, caller);
        if (!admitted.ok) {
          sendRefusal(reply, admitted.refusal);
          return;
        }
        admittedCallers.set(request, { ...caller, principal: admitted.value });
        next();
      },
      handler: async (request, reply) => {
        const caller = admittedCallers.get(request) ?? callerOf(request, 'rest');
        const result = await call(operation, inputOf(request), caller);
        return result.ok ? sendAnswer(reply, operation, rest, result.value) : sendRefusal(reply, result.refusal);
      },
    });
  }
}

function sendAnswer(
  reply: FastifyReply,
  { list }: AnyOperation,
  rest: RestRoute<unknown>,
  answer: unknown,
): FastifyReply {
  if (rest.status === 204) return reply.code(204).send();
  if (!list) return sendData(reply, rest.acceptedWhen?.(answer) === true ? 202 : rest.status, answer);
  const { data, pagination } = answer as Listing<unknown>;
  return sendData(reply, rest.status, data, pagination);
}

/** A GET takes its input from the path and the query. A query parameter cannot stand in for one of the path. */
function queryInput({ query, params }: FastifyRequest): unknown {
  return { ...(query as object), ...(params as object) };
}

/** Other methods take theirs from the path and the body, and no query. */
function bodyInput(pathFields: readonly string[]): (request: FastifyRequest) => unknown {
  return ({ query, params, body }) => {
    const stray = Object.keys(query as object);
    if (stray.length > 0) return malformed('bad_request', 'This route takes no query parameters.', stray);
    if (body === undefined) return params;
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      return new Malformed(
        refuse('validation_failed', 'Validation failed', { input: ['must be a JSON object'] }).refusal,
      );
    const doubled = pathFields.filter((field) => Object.hasOwn(body, field));
    return doubled.length > 0
      ? malformed('validation_failed', 'Validation failed', doubled)
      : { ...body, ...(params as object) };
  };
}

/** Field names that a refusal repeats: as many, and as long. */
const NAMES_MAX = 20;
const NAME_CHARACTERS_MAX = 128;

function malformed(code: 'bad_request' | 'validation_failed', message: string, fields: readonly string[]): Malformed {
  const details = Object.fromEntries(
    fields
      .slice(0, NAMES_MAX)
      .map((field) => [field.slice(0, NAME_CHARACTERS_MAX).toWellFormed(), ['is not known here']]),
  );
  return new Malformed(refuse(code, message, details).refusal);
}
