/**
 * Which methods a path takes: what meets no route is unknown (404), or known by another method (405 with Allow, RFC
 * 9110, 15.5.6).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuse, type Refusal } from '../../actors/refusal.ts';
import { sendRefusal } from './answers.ts';

const NO_ROUTE = refuse('not_found', 'No such route.').refusal;

/** Answers requests that met no route. Before routes are added, of which it keeps a list. */
export function answerUnrouted(app: FastifyInstance): void {
  const routes = new Map<string, { readonly segments: readonly string[]; readonly methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { segments: url.split('/'), methods: new Set() };
    routes.set(url, route);
    for (const one of [method].flat()) route.methods.add(one);
  });

  const methodsOf = (path: string): readonly string[] => {
    const segments = path.split('/');
    return [
      ...new Set([...routes.values()].flatMap((route) => (fits(route.segments, segments) ? [...route.methods] : []))),
    ].toSorted();
  };
  const answer = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const methods = methodsOf(request.url.split('?', 1)[0] ?? '');
    return methods.length === 0 ? sendRefusal(reply, NO_ROUTE) : answerKnown(request, reply, [...methods, 'OPTIONS']);
  };
  // Before the framework looks at its body, about which it has opinions of its own (QUERY without a type is a 400).
  app.addHook('onRequest', (request, reply, next) => {
    if (request.is404) answer(request, reply);
    else next();
  });
  app.setNotFoundHandler(answer);
}

/**
 * Whether a path is one of a route: a parameter stands for any segment but an empty one, and `*` at the end for all
 * that follows, also nothing.
 */
function fits(route: readonly string[], path: readonly string[]): boolean {
  const isOpen = route.at(-1) === '*';
  const named = isOpen ? route.slice(0, -1) : route;
  return (
    (isOpen ? path.length >= route.length : path.length === route.length) &&
    named.every((segment, index) => (segment.startsWith(':') ? path[index] !== '' : segment === path[index]))
  );
}

/**
 * OPTIONS is answered for every known path, with nothing but what it takes: no other page's scripts are let in (no
 * CORS).
 */
function answerKnown({ method }: FastifyRequest, reply: FastifyReply, allowed: readonly string[]): FastifyReply {
  reply.header('allow', allowed.join(', '));
  return method === 'OPTIONS' ? reply.code(204).send() : sendRefusal(reply, methodNotAllowed(allowed));
}

/** The refusal of a method, naming those that there are. */
export function methodNotAllowed(allowed: readonly string[]): Refusal {
  return refuse('method_not_allowed', 'This route does not take this method.', {
    method: [`must be ${allowed.join(' or ')}`],
  }).refusal;
}
