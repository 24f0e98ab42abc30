/** Who is signed in: asked of the admin, which knows by a cookie that no script sees. */
import { signal } from '@preact/signals';
import { TEXTS } from './texts.ts';

const SESSION_PATH = '/console/session';
const SESSIONS_PATH = '/console/session/all';

/** While somebody uses the page, the admin is told so at most this often, in ms: unused sessions end. */
const USED_EVERY_MS = 60_000;

/** The one who is signed in, and where. */
export interface Me {
  /** What the key reaches: `master` or `api`; `anonymous`: none is asked for. */
  readonly principal: string;
  readonly admin: { readonly name: string; readonly version: string };
}

/** What is known of it. */
export type SignedIn =
  | { readonly kind: 'asking' }
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
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const { data = null, error = null } = text === '' ? {} : (JSON.parse(text) as Partial<Answer<T>>);
    return { status: answer.status, data, error };
  } catch {
    return null;
  }
}

/**
 * Asks who is signed in. `isUse`: somebody does something, so the session is used; a page that only comes back to its
 * admin uses nothing. What cannot be asked stays as it is.
 */
export async function askWho(isUse = false): Promise<void> {
  const path = isUse ? `${SESSION_PATH}?use=true` : SESSION_PATH;
  const answer = await ask<{ readonly principal: string | null; readonly admin: Me['admin'] }>('GET', path);
  if (answer?.status !== 200 || answer.data === null) {
    if (signedIn.value.kind === 'asking') signedIn.value = { kind: 'out', why: TEXTS.signIn.unreached };
    return;
  }
  const { principal, admin } = answer.data;
  if (principal !== null) {
    // the same one again is no news: what hangs on it would begin anew
    if (signedIn.value.kind !== 'in') signedIn.value = { kind: 'in', me: { principal, admin } };
  } else if (signedIn.value.kind !== 'out') {
    // asked twice at a time, the second answer knows no more of why
    signedIn.value = { kind: 'out', why: signedIn.value.kind === 'in' ? TEXTS.signIn.over : null };
  }
}

/** Exchanges a key for a session. Null: it worked; else why it did not. */
export async function signIn(key: string): Promise<string | null> {
  const answer = await ask('POST', SESSION_PATH, { key });
  if (answer === null) return TEXTS.signIn.unreached;
  if (answer.status !== 201) {
    const { code = '', message = TEXTS.signIn.unreached } = answer.error ?? {};
    return code === 'unauthorized' ? TEXTS.signIn.wrong : message;
  }
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

let toldAtMs = Date.now();

/** Tells the admin, now and then, that somebody uses this page: what a page does by itself keeps no session alive. */
export function tellOfUse(): void {
  if (signedIn.value.kind !== 'in' || Date.now() - toldAtMs < USED_EVERY_MS) return;
  toldAtMs = Date.now();
  void askWho(true);
}

/** Tells of keys and clicks, also of those that a terminal keeps to itself. */
export function tellOfKeys(): void {
  for (const event of ['keydown', 'pointerdown'] as const)
    addEventListener(event, tellOfUse, { passive: true, capture: true });
}
