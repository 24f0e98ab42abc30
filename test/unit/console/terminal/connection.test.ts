/** The connection of a terminal whose admin says nothing while it is opened. */
import { mock } from 'node:test';
import { setImmediate as aTurn } from 'node:timers/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { LOGIN_MS_MAX } from '../../../../api/terminal/limits.ts';
import { ROOT } from '../../../support/source/source-text.ts';

/** A connection of a browser on a path that forgot it: what is sent goes nowhere, and nobody agrees to its end. */
class SilentSocket extends EventTarget {
  static readonly OPEN = 1;
  static readonly opened: SilentSocket[] = [];
  readyState = SilentSocket.OPEN;
  readonly sent: string[] = [];

  constructor() {
    super();
    SilentSocket.opened.push(this);
  }

  send(message: string | Uint8Array): void {
    this.sent.push(typeof message === 'string' ? (JSON.parse(message) as { readonly type: string }).type : 'bytes');
  }

  close(): void {
    this.readyState = 2;
  }
}

Object.assign(globalThis, { WebSocket: SilentSocket, location: { origin: 'http://x' }, window: new EventTarget() });
const { Connection, OPENED_MS_MAX } = (await import(join(ROOT, 'console/terminal/connection.ts'))) as {
  readonly Connection: new (
    login: object,
    heard: object,
  ) => { close(): void; sendPiece(piece: Uint8Array, sending: object): Promise<boolean> };
  readonly OPENED_MS_MAX: number;
};

/** One that said where to. `over`: what was heard of its end. */
async function opening(t: ExecutionContext) {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const over: unknown[] = [];
  const login = {
    node: 'one',
    username: 'deploy',
    signIn: { type: 'password', password: 'x' },
    size: { columns: 80, rows: 24 },
  };
  const connection = new Connection(login, { said() {}, bytes() {}, over: (message: unknown) => over.push(message) });
  const socket = SilentSocket.opened.at(-1);
  if (socket === undefined) throw new Error('it opens one');
  socket.dispatchEvent(new Event('open'));
  await aTurn();
  t.deepEqual(socket.sent, ['open']);
  return { connection, socket, over };
}

test.serial(
  'a terminal of which nothing is heard while it is opened is over a little after the admin gives up',
  async (t) => {
    const { over } = await opening(t);
    t.true(OPENED_MS_MAX > LOGIN_MS_MAX, 'the admin is to say why');

    mock.timers.tick(OPENED_MS_MAX - 1);
    t.deepEqual(over, []);
    mock.timers.tick(1);
    mock.timers.tick(10_000); // nobody agrees that it is closed

    t.deepEqual(over, [null]);
  },
);

test.serial('one that was opened in time stays', async (t) => {
  const { connection, socket, over } = await opening(t);

  socket.dispatchEvent(new MessageEvent('message', { data: JSON.stringify({ type: 'opened', answers_pings: false }) }));
  mock.timers.tick(OPENED_MS_MAX * 2);

  t.deepEqual([socket.readyState, over], [SilentSocket.OPEN, []]);
  connection.close();
});

test.serial(
  'of a piece that the browser read at once each part is told when it is sent, not the whole at its end',
  async (t) => {
    const { connection, socket } = await opening(t);
    const message = (said: object) => socket.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(said) }));
    message({ type: 'opened', answers_pings: false });
    let sent = 0;

    const sending = { isWanted: () => true, sent: (bytes: number) => (sent += bytes) };
    const whole = connection.sendPiece(new Uint8Array(1_000_000), sending);
    await aTurn();
    const first = sent;
    message({ type: 'taken', channel: 'file', bytes: first / 2 });
    await aTurn();

    t.deepEqual([first, sent], [262_144, 393_216], 'a window, and what was taken of it');
    connection.close();
    t.false(await whole);
  },
);
