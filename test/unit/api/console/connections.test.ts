/** Connections of pages: when their sessions are looked at, and what that asks of the rows. */
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Duplex, PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as aTurn } from 'node:timers/promises';
import test from 'ava';
import { createConnections, LIVE_PATH, type Sockets } from '../../../../api/console/connections.ts';
import { ConsoleCounters } from '../../../../api/console/counters.ts';
import { LOOKS_MISSED_MAX, SESSION_IDLE_MS_MAX, SESSION_LOOK_MS } from '../../../../api/console/limits.ts';
import type { SessionRows } from '../../../../api/console/ports.ts';
import { SESSION_OVER_CLOSE, STANDSTILL_CLOSE } from '../../../../api/console/session-watch.ts';
import { Sessions } from '../../../../api/console/sessions.ts';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { createGate } from '../../../../api/principals.ts';
import { memorySessionRows } from '../../../support/api/session-rows.ts';
import { fakeSettings, KEYS, SOME_ID } from '../../../support/api/fakes.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { silentLog } from '../../../support/log.ts';

const HOST = 'admin.example';

/** Connections over rows in memory; what was asked of these; and pages that connect. `isOpen`: no key is asked for. */
function openConnections({ isFed = false, isOpen = false } = {}) {
  const clock = createFakeClock();
  const memory = memorySessionRows(clock);
  /** How many ids each look named. */
  const looks: number[] = [];
  const database = { isAway: false };
  const rows: SessionRows = {
    ...memory,
    mark: (limits) => (database.isAway ? Promise.reject(new DatabaseUnavailable()) : memory.mark(limits)),
    living(ids, limits) {
      looks.push(ids.length);
      return memory.living(ids, limits);
    },
  };
  const settings = fakeSettings({}).gate;
  const gate = createGate({ ...settings, apiAuthEnabled: !isOpen }, clock, {
    isOwnHost: () => true,
  });
  let made = 0;
  const newId = (): string => SOME_ID.replace(/.{3}$/u, String((made += 1)).padStart(3, '0'));
  const sessions = new Sessions({ rows, gate, newId });
  const connections = createConnections({
    sessions,
    gate,
    isPlainAllowed: true,
    clock,
    counters: new ConsoleCounters(),
    log: silentLog,
  });
  const connected = new EventEmitter();
  const takeSignedIn: Sockets['takeSignedIn'] = (_upgrade, _signedIn, taken) => {
    const page = new FakePage();
    taken(page);
    connected.emit('page', page);
  };
  const upgrade = connections.upgradesTo({ takeSignedIn }, { isFed });
  const ask = (cookie: string, socket: Duplex): void => {
    const request = {
      method: 'GET',
      url: LIVE_PATH,
      headers: { host: HOST, origin: `http://${HOST}`, cookie, upgrade: 'websocket' },
      socket: {},
    };
    upgrade(request as unknown as IncomingMessage, socket, Buffer.alloc(0));
  };
  return {
    clock,
    rows,
    looks,
    signIn: async () => {
      const caller = {
        surface: 'rest',
        credential: KEYS.api,
        address: '192.0.2.1',
        host: HOST,
        requestId: '',
        idempotencyKey: null,
      } as const;
      const signedIn = await sessions.signIn({ caller, userAgent: '' });
      if (!signedIn.ok) throw new Error(signedIn.refusal.message);
      const { id, token } = signedIn.value;
      return { id, cookie: `edge-console=${token}` };
    },
    database,
    open: async (cookie = ''): Promise<FakePage> => {
      const opened = once(connected, 'page');
      ask(cookie, new Duplex());
      const [page] = (await opened) as [FakePage];
      return page;
    },
    /** What somebody is told who is not let in. */
    refused: async (cookie = ''): Promise<string> => {
      const socket = new PassThrough();
      ask(cookie, socket);
      return text(socket);
    },
    /** The next look, to its end: rows in memory answer at once. */
    look: async () => {
      clock.pass(SESSION_LOOK_MS);
      await aTurn();
    },
  };
}

/** What is cut. */
class FakePage extends EventEmitter {
  code: number | null = null;

  get isCut(): boolean {
    return this.code === SESSION_OVER_CLOSE;
  }

  close(code: number): void {
    this.code = code;
    this.emit('close');
  }
}

test('who is signed in is looked at so often that a session is over within a second of its end (E5)', (t) => {
  t.true(2 * SESSION_LOOK_MS <= 1_000);
});

test('sessions are looked at once, and again only when any begins or ends', async (t) => {
  const { signIn, open, look, looks, rows } = openConnections();
  const [first, second] = [await signIn(), await signIn()];
  const pages = [await open(first.cookie), await open(second.cookie)];
  const isCut = () => pages.map((page) => page.isCut);

  for (let count = 0; count < 3; count += 1) await look();
  t.deepEqual(looks, [2]);

  await rows.remove(second.id);
  await look();
  t.deepEqual(looks, [2, 2]);
  t.deepEqual(isCut(), [false, true]);
});

test('a session that began and ended between two looks is cut, and only newly connected pages are looked at', async (t) => {
  const { signIn, open, look, looks, rows } = openConnections();
  const { cookie } = await signIn();
  const stays = await open(cookie);
  await look();

  const brief = await signIn();
  const page = await open(brief.cookie);
  await rows.remove(brief.id);
  await look();
  await look();

  t.deepEqual(looks, [1, 1]);
  t.deepEqual([stays.isCut, page.isCut], [false, true]);
});

test('a session that nobody uses any more is cut at the next look', async (t) => {
  const { signIn, open, look, clock } = openConnections();
  const { cookie } = await signIn();
  const page = await open(cookie);
  await look();

  clock.pass(SESSION_IDLE_MS_MAX - SESSION_LOOK_MS * 2);
  await aTurn();
  t.false(page.isCut);

  await look();
  t.true(page.isCut);
});

for (const [who, isOpen] of [
  ['a page that signed in', false],
  ['a page where no key is asked for', true],
] as const)
  test(`${who} is cut once the database was away for three seconds, and let in again when it is back`, async (t) => {
    const { signIn, open, refused, look, database, clock } = openConnections({ isFed: true, isOpen });
    const cookie = isOpen ? '' : (await signIn()).cookie;
    const page = await open(cookie);
    await look();

    database.isAway = true;
    for (let count = 0; count < LOOKS_MISSED_MAX; count += 1) await look();
    t.is(page.code, null);
    await look();
    t.is(page.code, STANDSTILL_CLOSE);
    t.regex(await refused(cookie), /^HTTP\/1\.1 503 /u);
    database.isAway = false;
    await look();

    t.is((await open(cookie)).code, null);
    t.is(LOOKS_MISSED_MAX * SESSION_LOOK_MS, 3_000);
    t.is(clock.waiting(), 1, 'looks go on');
  });

test('what is not fed by the database stays while that is away', async (t) => {
  const { signIn, open, look, database } = openConnections();
  const page = await open((await signIn()).cookie);

  database.isAway = true;
  for (let count = 0; count < 2 * LOOKS_MISSED_MAX; count += 1) await look();

  t.is(page.code, null);
});
