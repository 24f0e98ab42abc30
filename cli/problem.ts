/**
 * What goes wrong for the user of `edge`: one line that says what to do, and the exit status that scripts decide by.
 */
import type { TRPCClientError } from '@trpc/client';

/**
 * The longest silence of a service that was asked, in ms. It answers within 30 s: one that takes twice as long stands
 * still.
 */
export const ANSWER_MS_MAX = 60_000;

/** Code of the error after such a silence. */
export const NO_ANSWER = 'ERR_NO_ANSWER';

/** Code of the error where more than reading was asked for, and the answer did not come through. */
export const ANSWER_LOST = 'ERR_ANSWER_LOST';

/** Begins each refusal that leaves open whether something was done. Source: docs/api.md, What can go wrong. */
const NOT_KNOWN = /^It is not known whether this was done/u;

/** Exit statuses of `edge`. Those of a run are worse from 0 to 7. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  auth: 3,
  notFound: 4,
  someFailed: 6,
  someUnfinished: 7,
  interrupted: 130,
} as const;
/** One of them. */
export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** An expected end, told in one line. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: ExitStatus;
  constructor(message: string, status: ExitStatus = EXIT.failed) {
    super(message);
    this.status = status;
  }
}

/** Data of a refusal, as the service sends it. */
interface RefusalData {
  readonly code?: string;
  readonly details?: Readonly<Record<string, readonly string[]>> | null;
  readonly request_id?: string | null;
}

/** The service that was asked, as it may be shown, and the key that it was given; null: none. */
export interface AskedService {
  readonly url: string;
  readonly key: string | null;
}

/** Any error as a problem. */
export function problemOf(error: unknown, asked: AskedService): Problem {
  if (error instanceof Problem) return error;
  if (isFailedCall(error)) {
    const data = error.data as RefusalData | null | undefined;
    return typeof data?.code === 'string'
      ? refusalProblem(error.message, data, asked)
      : unreachableProblem(error, asked.url);
  }
  return new Problem(error instanceof Error ? oneLine(error.message) : 'something went wrong');
}

/** The same in a few words, for a line that says what is done about it. */
export function reasonOf(error: unknown): string {
  return isRefusal(error) ? oneLine(error.message) : rootCause(error);
}

/**
 * Whether the service answered, with a refusal: what was asked for cannot be had, and it may be asked for something
 * else.
 */
export function isRefusal(error: unknown): error is Error {
  return isFailedCall(error) && typeof (error.data as RefusalData | null | undefined)?.code === 'string';
}

/** Refusals that pass by themselves. */
const PASSING: readonly (string | undefined)[] = ['rate_limited', 'service_unavailable'];

/**
 * What passes of what others on the path say: that it was too early or too much, or that the service does not answer
 * them. Source: RFC 9110, 15.5 and 15.6; from 520 on those of networks that deliver for others.
 */
const OF_GATEWAYS: readonly unknown[] = [408, 425, 429, 502, 503, 504, 520, 521, 522, 523, 524, 530];

/**
 * Whether the service was not reached, or cannot answer now: what was read before can be read again later. Another
 * answer of whoever stands on the path would be the same then.
 */
export function isPassing(error: unknown): boolean {
  if (!isFailedCall(error)) return false;
  const status = statusOf(error);
  return isRefusal(error)
    ? PASSING.some((code) => isRefusedAs(error, code))
    : status === undefined || OF_GATEWAYS.includes(status);
}

/** The status of an answer that is not the service's; undefined: there was none. */
function statusOf({ meta, cause }: TRPCClientError<never>): unknown {
  const answer: unknown = meta?.['response'] ?? cause; // the latter where it is no JSON
  return (answer as { readonly status?: unknown } | undefined)?.status;
}

/** Whether the service says that there is no such thing. */
export function isNotFound(error: unknown): boolean {
  return isRefusedAs(error, 'not_found');
}

/** Whether the service says that what is there is already so, or does not allow it. */
export function isConflict(error: unknown): boolean {
  return isRefusedAs(error, 'conflict');
}

/** Refusals of what was asked, not of who asks or when. */
const OBJECTIONS: readonly (string | undefined)[] = ['bad_request', 'validation_failed', 'conflict'];

/** What the service has against what was asked; null: it fails otherwise. */
export function objectionIn(error: unknown): Problem | null {
  if (!isFailedCall(error)) return null;
  const data = (error.data ?? {}) as RefusalData;
  return OBJECTIONS.includes(data.code) ? refusalProblem(error.message, data, { url: '', key: null }) : null;
}

/** Whether a refusal in these words leaves open whether something was done. */
export function leavesOpen(message: string): boolean {
  return NOT_KNOWN.test(message);
}

function isRefusedAs(error: unknown, code: RefusalData['code']): boolean {
  return isFailedCall(error) && (error.data as RefusalData | null | undefined)?.code === code;
}

/** Whether a call of the service failed, for whatever reason: all else is a bug. */
export function isFailedCall(error: unknown): error is TRPCClientError<never> {
  // by its name: programs that ask the service nothing need not load its client
  return error instanceof Error && error.name === 'TRPCClientError';
}

/** What to do where something may be done. */
const LOOK_FIRST = 'Look before you ask again';

function refusalProblem(
  message: string,
  { code, details, request_id: requestId }: RefusalData,
  { url, key }: AskedService,
): Problem {
  switch (code) {
    case 'unauthorized':
      return new Problem(
        `${key === null || key === '' ? `no key was given, and ${url} wants one` : `${url} does not accept this key`}: set EDGE_API_KEY, give --key, or run edge login`,
        EXIT.auth,
      );
    case 'forbidden':
      return new Problem(
        `this key does not reach that (${oneLine(message)}): use MASTER_KEY or API_KEY of the service`,
        EXIT.auth,
      );
    case 'not_found':
      return new Problem(`there is no such thing (${oneLine(message)})`, EXIT.notFound);
    case 'bad_request':
    case 'validation_failed':
      return new Problem(oneLine(fields(details) ?? message), EXIT.usage);
    case 'rate_limited':
    case 'service_unavailable':
      if (leavesOpen(message)) return new Problem(oneLine(`${message} ${LOOK_FIRST}.`));
      return new Problem(oneLine(/try again/iu.test(message) ? message : `${message} Try again shortly.`));
    case 'internal_error':
      return new Problem(
        `${oneLine(message)} Its operator finds it in the log${requestId == null ? '' : ` as ${requestId}`}.`,
      );
    case undefined:
    default:
      return new Problem(oneLine(message));
  }
}

function unreachableProblem(error: TRPCClientError<never>, url: string): Problem {
  const cause = rootCause(error);
  // Its answer was no JSON, or JSON that is not tRPC's.
  if (/JSON|transform response/u.test(cause))
    return new Problem(`what answers at ${url} is not this service: check EDGE_URL or --url`);
  if (cause === NO_ANSWER)
    return new Problem(
      `${url} took the call and has not answered for ${ANSWER_MS_MAX / 1_000} s: it may stand still, and what was asked for may be done. ${LOOK_FIRST}`,
    );
  if (cause === ANSWER_LOST)
    return new Problem(`${url} took the call, and its answer was lost: what was asked for may be done. ${LOOK_FIRST}`);
  const [, remedy] = TLS_FAULTS.find(([codes]) => codes.test(cause)) ?? [];
  return new Problem(
    `cannot reach ${url} (${cause}): ${remedy ?? 'check that edge-admin runs there, or set EDGE_URL or --url'}`,
  );
}

/**
 * What keeps a connection by TLS from coming about, by the codes that Node tells, and what to do. Source: node:tls,
 * OpenSSL.
 */
const TLS_FAULTS: readonly (readonly [codes: RegExp, remedy: string])[] = [
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/u, 'its certificate is not valid today: renew it, or set the clock here'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/u, 'its certificate is of another name: EDGE_URL or --url should have that one'],
  [
    /CERT|^UNABLE_TO_/u,
    'its certificate is not trusted here: NODE_EXTRA_CA_CERTS should name the file of its authority',
  ],
  [/^(?:ERR_SSL_|EPROTO$)/u, 'it does not speak HTTPS: check EDGE_URL or --url, which may have to begin with http://'],
];

function rootCause(error: unknown): string {
  let cause = error;
  for (let depth = 0; depth < 5 && cause instanceof Error && cause.cause instanceof Error; depth += 1)
    cause = cause.cause;
  if (!(cause instanceof Error)) return oneLine(String(cause));
  const { code, message } = cause as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : oneLine(message); // what is thrown at an abort has a number
}

/** What is wrong, field by field; null: the service does not say. */
function fields(details: RefusalData['details']): string | null {
  const told = Object.entries(details ?? {}).map(([field, messages]) =>
    // whole sentences say themselves what they are about
    messages.every((message) => /^\p{Lu}/u.test(message))
      ? messages.join(' ')
      : `${fieldName(field)} ${messages.join(', ')}`,
  );
  return told.length === 0 ? null : [...new Set(told)].join('; ');
}

/** A field as people call it: where in a schema it stands, and what its filter does, tells them nothing. */
function fieldName(path: string): string {
  const parts = path.replace(/^input$/u, 'what was sent').split('.');
  const name = parts.findLast((part) => !/^\d+$/u.test(part)) ?? path;
  const index = Number(parts.findLast((part) => /^\d+$/u.test(part)) ?? 0);
  const which = index === 0 ? '' : ` number ${index + 1}`; // the first is most often the only one
  return `${name.replace(/__(?:in|gte|lte)$/u, '').replaceAll('_', ' ')}${which}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').trim();
}
