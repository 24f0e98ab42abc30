/** Who is signed in, as a page knows it: its admin and database may be away, and another tab may show another key. */
import { mock } from 'node:test';
import { setImmediate as aTurn } from 'node:timers/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ROOT } from '../../support/source/source-text.ts';

/** As much of it as is looked at here: all of it is written for a browser. */
interface Session {
  readonly signedIn: { value: { readonly kind: string; readonly why?: string | null; readonly me?: object } };
  readonly UNREACHED_MS: number;
  readonly ANSWER_MS_MAX: number;
  askWho(isUse?: boolean): Promise<void>;
  askWhenBack(): void;
  signIn(key: string): Promise<string | null>;
  tellOfUse(): void;
}

const page = Object.assign(new EventTarget(), { hidden: false });
const browser = new EventTarget();
Object.assign(globalThis, { document: page, addEventListener: browser.addEventListener.bind(browser) });

const session = (await import(join(ROOT, 'console/session.ts'))) as Session;
const { serving } = (await import(join(ROOT, 'console/serving.ts'))) as { readonly serving: { value: object | null } };
session.askWhenBack();

const UNAVAILABLE = { status: 503, body: { error: { code: 'service_unavailable', message: 'The database is away.' } } };
const signedInAs = (principal: string | null, name = 'admin-1') => ({
  status: 200,
  body: { data: { principal, admin: { name, version: '1.0.0' } } },
});

type Answer = { readonly status: number; readonly body: object } | null;

/** A page that knows nothing yet, of an admin that answers so; null: not at all. `asked`: where it was asked. */
function loadPage(t: ExecutionContext, first: Answer | Promise<Answer>) {
  const admin = { answer: first, asked: [] as string[] };
  const real = globalThis.fetch;
  globalThis.fetch = (async (path: string) => {
    admin.asked.push(path);
    const answer = await admin.answer;
    if (answer === null) throw new TypeError('Failed to fetch');
    return new Response(JSON.stringify(answer.body), { status: answer.status });
  }) as typeof fetch;
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.UTC(2026, 0, 15, 10) });
  session.signedIn.value = { kind: 'asking' };
  t.teardown(() => {
    session.signedIn.value = { kind: 'out', why: null };
    mock.timers.reset();
    globalThis.fetch = real;
    page.hidden = false;
  });
  return admin;
}

/** A few turns of the loop: an answer is read in several. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await aTurn();
}

async function pass(ms: number): Promise<void> {
  mock.timers.tick(ms);
  await settle();
}

for (const [what, away] of [
  ['an admin whose database is away', UNAVAILABLE],
  ['an admin that is away', null],
] as const)
  test.serial(`a page of ${what} asks again until it is known who is signed in`, async (t) => {
    const admin = loadPage(t, away);

    await session.askWho(true);
    t.deepEqual(session.signedIn.value, { kind: 'unreached', why: 'away' });
    await pass(session.UNREACHED_MS);
    t.deepEqual(session.signedIn.value, { kind: 'unreached', why: 'away' });
    admin.answer = signedInAs('master');
    await pass(session.UNREACHED_MS);
    await pass(session.UNREACHED_MS);

    t.deepEqual(session.signedIn.value, { kind: 'in', me: { principal: 'master' } });
    t.deepEqual(admin.asked, ['/console/session?use=true', '/console/session', '/console/session']);
  });

test.serial('a page whose address may not ask for now says so, and not that its admin is away', async (t) => {
  const admin = loadPage(t, { status: 429, body: { error: { code: 'rate_limited', message: 'Too many requests' } } });

  await session.askWho(true);
  t.deepEqual(session.signedIn.value, { kind: 'unreached', why: 'throttled' });
  admin.answer = null;
  await pass(session.UNREACHED_MS);

  t.deepEqual(session.signedIn.value, { kind: 'unreached', why: 'away' });
});

test.serial('a page that nobody sees asks as soon as it is seen, or its network is back', async (t) => {
  const admin = loadPage(t, null);
  page.hidden = true;
  await session.askWho(true);
  await pass(session.UNREACHED_MS);
  t.is(admin.asked.length, 1);

  page.hidden = false;
  page.dispatchEvent(new Event('visibilitychange'));
  await settle();
  t.is(admin.asked.length, 2);
  admin.answer = signedInAs(null);
  browser.dispatchEvent(new Event('online'));
  await settle();

  t.deepEqual(session.signedIn.value, { kind: 'out', why: null });
  page.dispatchEvent(new Event('visibilitychange'));
  await pass(session.UNREACHED_MS);
  t.is(admin.asked.length, 3, 'it is known');
});

test.serial('an answer that never comes is waited for no longer than its limit', async (t) => {
  const limits: number[] = [];
  const late = new AbortController();
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => {
    limits.push(ms);
    return late.signal;
  };
  t.teardown(() => (AbortSignal.timeout = timeout));
  loadPage(t, null);
  globalThis.fetch = ((_path: string, { signal }: { readonly signal: AbortSignal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))) as typeof fetch;

  const asking = session.askWho(true);
  late.abort();
  await asking;

  t.deepEqual([limits, session.signedIn.value], [[session.ANSWER_MS_MAX], { kind: 'unreached', why: 'away' }]);
});

test.serial('a page that is refused shows the sign-in with why', async (t) => {
  loadPage(t, { status: 403, body: { error: { code: 'forbidden', message: 'Only the console itself may.' } } });

  await session.askWho(true);

  t.deepEqual(session.signedIn.value, { kind: 'out', why: 'Only the console itself may.' });
});

test.serial('another key in another tab is another one who is signed in; the same again is no news', async (t) => {
  const admin = loadPage(t, signedInAs('master'));
  await session.askWho(true);
  const before = session.signedIn.value;
  t.deepEqual(serving.value, { name: 'admin-1', version: '1.0.0' });

  admin.answer = signedInAs('master', 'admin-2');
  await session.askWho();
  t.is(session.signedIn.value, before);
  t.deepEqual(serving.value, { name: 'admin-1', version: '1.0.0' }, 'the connection may still lead there');
  admin.answer = signedInAs('api');
  await session.askWho();

  t.deepEqual(session.signedIn.value, { kind: 'in', me: { principal: 'api' } });
});

test.serial('a session that is over is told so, and stays told where it was asked twice at a time', async (t) => {
  const admin = loadPage(t, signedInAs('master'));
  await session.askWho(true);
  const later = Promise.withResolvers<Answer>();
  admin.answer = signedInAs(null);
  const first = session.askWho();
  admin.answer = later.promise;
  const second = session.askWho();
  await first;
  const over = session.signedIn.value;
  t.regex(over.why ?? '', /^Your session is over/u);

  later.resolve(signedInAs(null));
  await second;

  t.deepEqual(session.signedIn.value, over);
});

test.serial('an answer of before the sign-in does not end it', async (t) => {
  const before = Promise.withResolvers<Answer>();
  const admin = loadPage(t, before.promise);
  const old = session.askWho(true);
  admin.answer = signedInAs('master');
  await session.askWho();

  before.resolve(signedInAs(null));
  await old;

  t.deepEqual(session.signedIn.value, { kind: 'in', me: { principal: 'master' } });
});

test.serial('who signed in while the admin went away is signed in once it is back', async (t) => {
  const admin = loadPage(t, signedInAs(null));
  await session.askWho(true);
  admin.answer = { status: 201, body: { data: { id: 'one' } } };
  const signing = session.signIn('a key');
  admin.answer = null;

  t.is(await signing, null);
  t.deepEqual(session.signedIn.value, { kind: 'unreached', why: 'away' });
});

test.serial('use is told once a minute, also when the clock of the machine is set back', async (t) => {
  const admin = loadPage(t, signedInAs('master'));
  await session.askWho(true);
  let nowMs = Math.ceil(performance.now()); // whole: a minute later than a fraction may be a minute less a hair
  mock.method(performance, 'now', () => nowMs);
  t.teardown(() => mock.restoreAll());
  nowMs += 60_000;
  session.tellOfUse();
  session.tellOfUse();
  await settle();
  t.is(admin.asked.length, 2);

  mock.timers.setTime(Date.UTC(2026, 0, 15, 9));
  nowMs += 60_000;
  session.tellOfUse();
  await settle();

  t.is(admin.asked.length, 3);
});
