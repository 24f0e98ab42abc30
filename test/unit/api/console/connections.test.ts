/** Connections of pages: when their sessions are looked at, and what that asks of the rows. */
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import test from 'ava';
import { createConnections, LIVE_PATH } from '../../../../api/console/connections.ts';
import { ConsoleCounters } from '../../../../api/console/counters.ts';
import { SESSION_IDLE_MS_MAX, SESSION_LOOK_MS } from '../../../../api/console/limits.ts';
import type { SessionRows } from '../../../../api/console/ports.ts';
import { Sessions } from '../../../../api/console/sessions.ts';
import { createGate } from '../../../../api/principals.ts';
import { memorySessionRows } from '../../../support/api/session-rows.ts';
import { fakeSettings, KEYS, SOME_ID } from '../../../support/api/fakes.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { silentLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';

const HOST = 'admin.example';

/** Connections over rows in memory; what was asked of these; and pages that connect. */
function openConnections() {
  const clock = createFakeClock();
  const memory = memorySessionRows(clock);
  /** How many ids each look named. */
  const looks: number[] = [];
  const rows: SessionRows = {
    ...memory,
    living(ids, limits) {
      looks.push(ids.length);
      return memory.living(ids, limits);
    },
  };
  const gate = createGate(fakeSettings({}).gate, clock, { isOwnHost: () => true });
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
  const upgrade = connections.upgradesTo({
    takeSignedIn(_upgrade, _signedIn, taken) {
      const page = new FakePage();
      taken(page);
      connected.emit('page', page);
    },
  });
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
    open: async (cookie: string): Promise<FakePage> => {
      const request = {
        method: 'GET',
        url: LIVE_PATH,
        headers: { host: HOST, origin: `http://${HOST}`, cookie, upgrade: 'websocket' },
        socket: {},
      };
      const opened = once(connected, 'page');
      upgrade(request as unknown as IncomingMessage, new Duplex(), Buffer.alloc(0));
      const [page] = (await opened) as [FakePage];
      return page;
    },
    /** The next look, to its end: then the one after it waits, while anybody is connected. */
    look: async () => {
      clock.pass(SESSION_LOOK_MS);
      await until('the end of the look', () => clock.waiting() === 1);
    },
  };
}

/** What is cut when its session is over. */
class FakePage extends EventEmitter {
  isCut = false;

  close(): void {
    this.isCut = true;
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
  await until('the end of the look', () => clock.waiting() === 1);
  t.false(page.isCut);

  await look();
  t.true(page.isCut);
});
