/** Paths at which other admins come in: on the port of the API, before anything of it looks at a request. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { WebPages } from '../origins.ts';

/**
 * Takes a request and answers it. False: it is nobody's who may come in, and is answered as one to a path that there is
 * not. Rejects only for a bug.
 */
export type TakeRequest = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

/** The paths, also after the server listens. */
export interface InternalPaths {
  /** Offers requests to this exact path, in whatever method. */
  onInternal(path: string, take: TakeRequest): void;
}

/**
 * None at first. Before every other hook: what is taken has no record, is not timed as a route, and its body is read by
 * whoever took it, with a limit of its own. What is not taken goes on to all of them.
 */
export function mountInternal(app: FastifyInstance, pages: Pick<WebPages, 'foreignOrigin'>): InternalPaths {
  const takers = new Map<string, TakeRequest>();
  app.addHook('onRequest', (request, reply, next) => {
    const take = takers.get(request.raw.url ?? '');
    if (take === undefined || pages.foreignOrigin(request.raw) !== null) next();
    else void offered(take, request, reply, next);
  });
  return { onInternal: (path, take) => void takers.set(path, take) };
}

async function offered(
  take: TakeRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  next: HookHandlerDoneFunction,
): Promise<void> {
  try {
    if (await take(request.raw, reply.raw)) reply.hijack();
    else next();
  } catch (error) {
    next(error as Error);
  }
}
