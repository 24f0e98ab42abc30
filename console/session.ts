/** Who is signed in: asked of the admin, which knows by a cookie that no script sees. */
import { signal } from '@preact/signals';
import { serving, type Serving } from './serving.ts';
import { TEXTS } from './texts.ts';

const SESSION_PATH = '/console/session';
const SESSIONS_PATH = '/console/session/all';

/** While somebody uses the page, the admin is told so at most this often, in ms: unused sessions end. */
const USED_EVERY_MS = 60_000;

/** A page that could not ask yet who is signed in asks again after this, in ms. */
export const UNREACHED_MS = 3_000;

/** An answer that takes longer is waited for no more, in ms: an admin whose database is away says so within 5 s. */
export const ANSWER_MS_MAX = 10_000;

/** The one who is signed in. */
export interface Me {
  /** What the key reaches: `master` or `api`; `anonymous`: none is asked for. */
  readonly principal: string;
}

/**
 * What is known of it. `unreached`: nothing yet, as the admin or its database is `away`, or lets nobody of this address
 * ask for now (`throttled`); it is asked again.
 */
export type SignedIn =
  | { readonly kind: 'asking' }
  | { readonly kind: 'unreached'; readonly why: 'away' | 'throttled' }
  | { readonly kind: 'out'; readonly why: string | null }
  | { readonly kind: 'in'; readonly me: Me };

/** A session as the list has it. */
export interface SessionRow {
  readonly id: string;
  readonly principal: string;
  readonly address: string;
  readonly user_agent: string;
  readonly inserted_at: string;
  readonly last_used_at: string;
  readonly is_current: boolean;
}

/** Who is signed in, now. */
export const signedIn = signal<SignedIn>({ kind: 'asking' });

/** An answer of the console's own routes. */
interface Answer<T> {
  readonly status: number;
  readonly data: T | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Asks. Null: the admin does not answer. */
async function ask<T>(method: string, path: string, body?: object): Promise<Answer<T> | null> {
  try {
    const answer = await fetch(path, {
      method,
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const { data = null, error = null } = text === '' ? {} : (JSON.parse(text) as Partial<Answer<T>>);
    return { status: answer.status, data, error };
  } catch {
    return null;
  }
}

/** Questions of who is signed in that were asked, and the latest of them that was answered. */
let asked = 0;
let answered = 0;
let again: ReturnType<typeof setTimeout> | undefined;

/**
 * Asks who is signed in. `isUse`: somebody does something, so the session is used; a page that only comes back to its
 * admin uses nothing. What cannot be asked stays as it is; where nothing is known yet, it is asked again.
 */
export async function askWho(isUse = false): Promise<void> {
  const turn = (asked += 1);
  const path = isUse ? `${SESSION_PATH}?use=true` : SESSION_PATH;
  const answer = await ask<{ readonly principal: string | null; readonly admin: Serving }>('GET', path);
  if (turn < answered) return; // a later one knows better
  if (answer?.status === 429) return unreached('throttled');
  if (answer === null || answer.status >= 500) return unreached('away');
  answered = turn;
  if (answer.data === null) return refused(answer.error?.message ?? TEXTS.signIn.unreached);
  const { principal, admin } = answer.data;
  if (signedIn.value.kind !== 'in') serving.value = admin; // the connection tells it from then on
  return known(principal);
}

function known(principal: string | null): void {
  const now = signedIn.value;
  if (principal !== null) {
    // the same one again is no news: what hangs on it would begin anew
    if (now.kind !== 'in' || now.me.principal !== principal) signedIn.value = { kind: 'in', me: { principal } };
  } else if (now.kind !== 'out') {
    // asked twice at a time, the second answer knows no more of why
    signedIn.value = { kind: 'out', why: now.kind === 'in' ? TEXTS.signIn.over : null };
  }
}

function refused(why: string): void {
  const { kind } = signedIn.value;
  if (kind === 'asking' || kind === 'unreached') signedIn.value = { kind: 'out', why };
}

function unreached(why: 'away' | 'throttled'): void {
  const now = signedIn.value;
  if (now.kind !== 'asking' && now.kind !== 'unreached') return;
  if (now.kind === 'asking' || now.why !== why) signedIn.value = { kind: 'unreached', why };
  clearTimeout(again);
  again = setTimeout(askIfUnreached, UNREACHED_MS);
}

/** A page that nobody sees asks once it is seen. */
function askIfUnreached(): void {
  if (signedIn.value.kind === 'unreached' && !document.hidden) void askWho();
}

/** Asks at once when somebody comes back to a page that could not ask yet, or its network is there again. */
export function askWhenBack(): void {
  document.addEventListener('visibilitychange', askIfUnreached);
  addEventListener('online', askIfUnreached);
}

/** Exchanges a key for a session. Null: it worked; else why it did not. */
export async function signIn(key: string): Promise<string | null> {
  const answer = await ask('POST', SESSION_PATH, { key });
  if (answer === null) return TEXTS.signIn.unreached;
  if (answer.status !== 201) {
    const { code = '', message = TEXTS.signIn.unreached } = answer.error ?? {};
    return code === 'unauthorized' ? TEXTS.signIn.wrong : message;
  }
  signedIn.value = { kind: 'asking' }; // if it cannot be asked now, it is later
  await askWho();
  return null;
}

/** Ends this session, also one that has ended by itself. Null: it is over; else why it may not be. */
export async function signOut(): Promise<string | null> {
  const answer = await ask('DELETE', SESSION_PATH);
  if (answer === null || (answer.status >= 300 && answer.status !== 401))
    return answer?.error?.message ?? TEXTS.signIn.unreached;
  signedIn.value = { kind: 'out', why: TEXTS.signIn.out };
  return null;
}

/** All sessions; null: they cannot be had. */
export async function listSessions(): Promise<readonly SessionRow[] | null> {
  return (await ask<readonly SessionRow[]>('GET', SESSIONS_PATH))?.data ?? null;
}

/** Ends another one, and says whether it has ended: also where somebody else was faster. */
export async function endSession(id: string): Promise<boolean> {
  const answer = await ask('DELETE', `${SESSIONS_PATH}/${encodeURIComponent(id)}`);
  return answer !== null && (answer.status < 300 || answer.status === 404);
}

let toldAtMs = performance.now(); // a clock that nobody sets back

/** Tells the admin, now and then, that somebody uses this page: what a page does by itself keeps no session alive. */
export function tellOfUse(): void {
  const nowMs = performance.now();
  if (signedIn.value.kind !== 'in' || nowMs - toldAtMs < USED_EVERY_MS) return;
  toldAtMs = nowMs;
  void askWho(true);
}

/** Tells of keys and clicks, also of those that a terminal keeps to itself. */
export function tellOfKeys(): void {
  for (const event of ['keydown', 'pointerdown'] as const)
    addEventListener(event, tellOfUse, { passive: true, capture: true });
}
