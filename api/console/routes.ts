/** The console's own routes: signing in and out, and the sessions that there are. All else comes by its connection. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { refuse, type Refusal, type RefusalCode } from '../../actors/refusal.ts';
import type { Log } from '../../transport/net/log.ts';
import { IN_WORDS } from '../inputs/issue-words.ts';
import { detailsOf } from '../inputs/parse.ts';
import type { Gate } from '../principals.ts';
import { sendData, sendRefusal } from '../rest/answers.ts';
import { callerOf } from '../rest/requests.ts';
import type { Principal } from '../surface.ts';
import { noCookies, sessionCookie, tokensOf } from './cookie.ts';
import type { ConsoleCounters, SignInResult } from './counters.ts';
import { SIGN_IN_BODY_BYTES_MAX } from './limits.ts';
import { asksThisMachine, isSecure, otherPage } from './same-origin.ts';
import { sessionResource, type LiveSession, type Sessions } from './sessions.ts';

/** Where somebody signs in and out. */
export const SESSION_PATH = '/console/session';

/** Where all sessions are: beside the page of them, which is at /console/sessions. */
export const SESSIONS_PATH = '/console/session/all';

/** What the routes are made of. */
export interface SessionRoutes {
  readonly sessions: Sessions;
  readonly gate: Pick<Gate, 'identify'>;
  /** Whether keys and cookies may go over plain HTTP between two machines. */
  readonly isPlainAllowed: boolean;
  readonly admin: { readonly name: string; readonly version: string };
  readonly counters: Pick<ConsoleCounters, 'signIn'>;
  readonly log: Log;
}

/** A key is 16 to 512 characters; whatever is no key is a wrong one, and counted as such. */
const SignInBody = z.strictObject({ key: z.string().min(1).max(512) });

const SessionParams = z.strictObject({ id: z.uuid() });

/** Whoever asks: a session that lives, `anonymous` where the API asks for no key, or nobody. */
type Who = LiveSession | 'anonymous' | null;

/** What a route does for whoever may ask. */
type Handle = (request: FastifyRequest, reply: FastifyReply, who: Who) => Promise<unknown>;

/** Offers them. Each refuses whoever is no page of this very origin, before anything is looked up. */
export function registerSessions(app: FastifyInstance, routes: SessionRoutes): void {
  const { sessions, admin, log } = routes;
  const { whose, own } = createSessionChecks(routes);

  async function end(id: string, request: FastifyRequest): Promise<boolean> {
    const isThere = await sessions.end(id);
    if (isThere) log.info({ session: id, request_id: request.id }, 'a session of the console was ended');
    return isThere;
  }

  app.post(SESSION_PATH, { bodyLimit: SIGN_IN_BODY_BYTES_MAX }, own(false, signInBy(routes)));
  app.get(
    SESSION_PATH,
    own(false, async (request, reply) => {
      const who = await whose(request);
      const { use } = request.query as { readonly use?: unknown };
      if (use === 'true' && who !== null && who !== 'anonymous') await sessions.used(who);
      return sendData(reply, 200, { admin, ...principalOf(who) });
    }),
  );
  app.delete(
    SESSION_PATH,
    own(true, async (request, reply, who) => {
      if (who !== null && who !== 'anonymous') await end(who.stored.id, request);
      return reply.header('set-cookie', noCookies()).code(204).send();
    }),
  );
  app.get(
    SESSIONS_PATH,
    own(true, async (_request, reply, who) => {
      const all = await sessions.list();
      const views = all.map((session) => view(session, who));
      return sendData(reply, 200, views);
    }),
  );
  app.delete(
    `${SESSIONS_PATH}/:id`,
    own(true, async (request, reply) => {
      const params = SessionParams.safeParse(request.params);
      if (!params.success || !(await end(params.data.id, request))) return sendRefusal(reply, NO_SESSION);
      return reply.code(204).send();
    }),
  );
}

/** Who asks, and whether they may. */
function createSessionChecks({ sessions, gate, isPlainAllowed }: SessionRoutes) {
  async function whose(request: FastifyRequest): Promise<Who> {
    const { headers } = request;
    const session = await sessions.find(tokensOf(headers, isPlainAllowed || asksThisMachine(headers)));
    if (session !== null) return session;
    return gate.identify({ ...callerOf(request, 'rest'), credential: null }) === 'anonymous' ? 'anonymous' : null;
  }

  /** A route for pages of this origin; with `isSignedIn`, for those with a session. */
  function own(isSignedIn: boolean, handle: Handle) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const other = otherPage(request.raw);
      if (other !== null) return sendRefusal(reply, other);
      const who = isSignedIn ? await whose(request) : null;
      if (isSignedIn && who === null) return sendRefusal(reply, NOT_SIGNED_IN);
      await handle(request, reply, who);
      return reply;
    };
  }

  return { whose, own };
}

/** Exchanges a key for a session, where nobody between can read either. */
function signInBy({ sessions, isPlainAllowed, counters, log }: SessionRoutes): Handle {
  async function signIn(request: FastifyRequest, key: string): ReturnType<Sessions['signIn']> {
    const caller = { ...callerOf(request, 'rest'), credential: key };
    try {
      return await sessions.signIn({ caller, userAgent: request.headers['user-agent'] });
    } catch (error) {
      counters.signIn('unavailable');
      throw error;
    }
  }

  return async (request, reply) => {
    const { headers } = request;
    if (!isSecure(headers) && !asksThisMachine(headers) && !isPlainAllowed) {
      counters.signIn('insecure');
      return sendRefusal(reply, PLAIN);
    }
    const body = SignInBody.safeParse(request.body, IN_WORDS);
    if (!body.success) {
      counters.signIn('invalid');
      return sendRefusal(reply, invalid(body.error.issues));
    }
    const made = await signIn(request, body.data.key);
    counters.signIn(made.ok ? 'signed_in' : (REFUSED[made.refusal.code] ?? 'unavailable'));
    if (!made.ok) return sendRefusal(reply, made.refusal);
    const { token, id } = made.value;
    const { address } = callerOf(request, 'rest');
    log.info({ session: id, address, request_id: request.id }, 'somebody signed in to the console');
    reply.header('set-cookie', sessionCookie(token, { isSecure: isSecure(headers) }));
    return sendData(reply, 201, { id });
  };
}

/** What a refusal to sign in is counted as. */
const REFUSED: Partial<Record<RefusalCode, SignInResult>> = {
  unauthorized: 'wrong_key',
  rate_limited: 'throttled',
  forbidden: 'forbidden',
  conflict: 'unneeded',
};

/** Who is signed in, as pages are told. */
function principalOf(who: Who): {
  readonly principal: Principal | null;
  readonly session: ReturnType<typeof view> | null;
} {
  if (who === null || who === 'anonymous') return { principal: who, session: null };
  return { principal: who.principal, session: view(who, who) };
}

/** A session as pages show it. */
function view(session: LiveSession, who: Who) {
  const isCurrent = who !== null && who !== 'anonymous' && who.stored.id === session.stored.id;
  return { ...sessionResource(session), is_current: isCurrent };
}

function invalid(issues: Parameters<typeof detailsOf>[0]): Refusal {
  return refuse('validation_failed', 'Validation failed', detailsOf(issues, SignInBody)).refusal;
}

const NOT_SIGNED_IN: Refusal = refuse('unauthorized', 'Sign in to the console first.').refusal;
const NO_SESSION: Refusal = refuse('not_found', 'There is no such session.').refusal;
const PLAIN: Refusal = refuse(
  'forbidden',
  'This page came over plain HTTP, where everybody between can read a key. Use HTTPS (ADMIN_TLS_CERT_FILE, or a proxy), an SSH tunnel to this machine, or allow it with CONSOLE_INSECURE_HTTP=true.',
).refusal;
