/**
 * `/admin/debug`: the inside of this admin, for its operator. Off unless ADMIN_DEBUG_DASHBOARD_ENABLED. Source:
 * docs/api.md, Authentication.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { DatabaseUnavailable, type Clock } from '../../actors/ports.ts';
import { ACTOR_KINDS, ACTOR_ORDERS, type DebugInspection } from '../../actors/inspection.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import { sendRefusal } from '../rest/answers.ts';
import { addressOf } from '../rest/requests.ts';
import type { Mount } from '../rest/server.ts';
import { createAddressLimiter } from '../../transport/net/window-limiter.ts';
import { FOREIGN_HOST, type WebPages } from '../origins.ts';
import type { DebugElsewhere } from './elsewhere.ts';
import { ACTORS_A_PAGE, debugPage, REFRESH_SECONDS } from './page.ts';
import { startSampling } from './samples.ts';

/** Where it is. */
export const DEBUG_PATH = '/admin/debug';

/** It runs no script and loads nothing; its form asks only itself. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** Wrong passwords are counted by address in windows of a minute, of so many addresses. */
const WINDOW_MS = 60_000;
const ADDRESSES_MAX = 10_000;

/** Pages that are made at once: each walks over all actors. */
const PAGES_MAX = 4;

/** Longest name of an admin, in characters. */
const NAME_CHARS_MAX = 256;

const DebugQuery = z.strictObject({
  /** Whose page: this admin's unless another one is named. */
  admin: z.string().max(NAME_CHARS_MAX).default(''),
  q: z.string().max(64).default(''),
  kind: z.enum([...ACTOR_KINDS, '']).default(''),
  sort: z.enum(ACTOR_ORDERS).default('mailbox'),
  page: z.coerce.number().int().min(1).max(10_000_000).default(1),
  refresh: z.coerce
    .number()
    .refine(
      (seconds) => REFRESH_SECONDS.some((offered) => offered === seconds),
      `must be one of ${REFRESH_SECONDS.join(', ')}`,
    )
    .default(0),
});

/** Who may look: the dashboard's own name and password. Null: nobody is asked. */
export type DebugCredentials = { readonly username: string; readonly password: string } | null;

/** What the dashboard needs. */
export interface DebugKit {
  readonly inspection: DebugInspection;
  readonly credentials: DebugCredentials;
  readonly failuresPerMinuteMax: number;
  readonly admin: { readonly name: string; readonly version: string };
  readonly clock: Clock;
  readonly elsewhere: DebugElsewhere;
}

/** The dashboard. */
export interface DebugDashboard {
  /** As a surface of the server. */
  readonly mount: Mount;
  /** The page of this admin for another one, which let somebody in. */
  readonly page: (query: unknown) => Promise<Result<string>>;
}

/** Nobody has looked yet. */
export function createDebug(kit: DebugKit): DebugDashboard {
  const sampling = startSampling();
  const startedAtMs = kit.clock.nowMs();
  let making = 0;
  const page = async (query: unknown, isForOther: boolean): Promise<Result<string>> => {
    const asked = DebugQuery.safeParse(query);
    if (!asked.success) return malformed(asked.error.issues);
    if (making >= PAGES_MAX) return BUSY;
    making += 1;
    try {
      const { admin } = asked.data;
      if (!isForOther && admin !== '' && admin !== kit.admin.name) return await kit.elsewhere.page(admin, query);
      return ok(await pageOf(kit, asked.data, startedAtMs, sampling.samples()));
    } finally {
      making -= 1;
    }
  };
  return {
    mount: ({ app, pages }) => registerDebug(app, pages, kit, { page: (query) => page(query, false), sampling }),
    page: (query) => page(query, true),
  };
}

/** The sampling ends with the server. */
function registerDebug(
  app: FastifyInstance,
  pages: WebPages,
  kit: DebugKit,
  { page, sampling }: Pick<DebugDashboard, 'page'> & { readonly sampling: ReturnType<typeof startSampling> },
): void {
  const isAdmitted = createAdmission(pages, kit);
  app.addHook('onClose', (_app, done) => {
    sampling.stop();
    done();
  });

  app.get(DEBUG_PATH, async (request, reply) => {
    if (!(await isAdmitted(request, reply))) return reply;
    const html = await page(request.query);
    if (!html.ok) return sendRefusal(reply, html.refusal);
    return reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', PAGE_POLICY)
      .send(html.value);
  });
}

/** Whether somebody may look; false: it was answered. */
function createAdmission(
  { isOwnHost }: WebPages,
  { credentials, failuresPerMinuteMax, clock }: DebugKit,
): (request: FastifyRequest, reply: FastifyReply) => Promise<boolean> {
  const failures = createAddressLimiter(
    { perWindowMax: failuresPerMinuteMax, windowMs: WINDOW_MS, keysMax: ADDRESSES_MAX },
    clock,
  );
  return async (request, reply) => {
    if (credentials === null && !isOwnHost(request.headers.host)) {
      await sendRefusal(reply, FOREIGN_HOST.refusal);
      return false;
    }
    if (isAllowed(credentials, request.headers.authorization)) return true;
    const waitMs = request.headers.authorization === undefined ? 0 : failures.add(addressOf(request.raw));
    if (waitMs > 0)
      await sendRefusal(reply, {
        code: 'rate_limited',
        message: 'Too many failed attempts from this address.',
        retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
      });
    else
      await sendRefusal(
        reply.header('www-authenticate', 'Basic realm="edge admin debug", charset="UTF-8"'),
        UNAUTHORIZED,
      );
    return false;
  };
}

/** Whether a header shows the credentials, in constant time. Source: RFC 7617. */
function isAllowed(credentials: DebugCredentials, header: string | undefined): boolean {
  if (credentials === null) return true;
  const encoded = /^Basic +([\w+/]+={0,2}) *$/iu.exec(header ?? '')?.[1] ?? '';
  const given = Buffer.from(encoded, 'base64').toString('utf8');
  return timingSafeEqual(digest(given), digest(`${credentials.username}:${credentials.password}`));
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

function malformed(issues: readonly z.core.$ZodIssue[]) {
  const names = issues.map((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.join(', ') : issue.path.join('.'),
  );
  return refuse('bad_request', `Unknown or malformed query parameter: ${names.join(', ')}.`);
}

async function pageOf(
  { inspection, admin, clock, elsewhere }: DebugKit,
  { admin: asked, q, kind, sort, page, refresh }: z.output<typeof DebugQuery>,
  startedAtMs: number,
  samples: ReturnType<ReturnType<typeof startSampling>['samples']>,
): Promise<string> {
  const database = await inspection.database().catch((error: unknown) => {
    if (error instanceof DatabaseUnavailable) return null; // it is looked at just then
    throw error;
  });
  return debugPage({
    admin: { ...admin, startedAtMs },
    // Named on every link of it, whichever admin it is looked at through.
    isNamed: asked !== '',
    others: elsewhere.names(),
    page,
    refreshSeconds: refresh,
    samples,
    inspection,
    database,
    nowMs: clock.nowMs(),
    search: {
      kind: kind === '' ? null : kind,
      text: q,
      order: sort,
      offset: (page - 1) * ACTORS_A_PAGE,
      limit: ACTORS_A_PAGE,
    },
  });
}

const UNAUTHORIZED = refuse(
  'unauthorized',
  'This takes the user name and the password of the debug dashboard.',
).refusal;
const CROWDED = refuse('service_unavailable', 'The dashboard is being looked at by many. Try again shortly.');
const BUSY = { ...CROWDED, refusal: { ...CROWDED.refusal, retryAfterSeconds: 1 } };
