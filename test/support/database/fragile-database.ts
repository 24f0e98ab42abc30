/**
 * A way to a PostgreSQL that is lost at a moment of choice, as when its postmaster is killed: every connection is told
 * so by its backend and ends, with whatever was under way on it.
 */
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { listening, listeningAt } from '../net/listening.ts';
import type { Scope } from '../scope.ts';
import { urlOf, type TestConnection } from './server.ts';

/** Whether the server never hears of the statement at which it is lost, or does it and cannot say so any more. */
export type Losing = 'unheard' | 'unanswered';

/** Stands before one database. */
export interface FragileDatabase {
  /** As DATABASE_URL has it. */
  readonly url: string;
  /** What was asked since it was opened or armed last: statements, and `DIAL` for each connection. */
  readonly asked: readonly string[];
  /**
   * It is lost once, when so many more were asked, and answers again after it refused as many connections as are given.
   */
  loseAt(count: number, how: Losing, refused?: number): void;
}

/** What a connection that is dialled counts as. */
export const DIAL = 'dial';

/** As a backend says it whose postmaster is gone: ErrorResponse. Source: PostgreSQL, protocol-message-formats. */
const GONE = message(
  'E',
  ['SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection due to unexpected postmaster exit', '']
    .map((field) => `${field}\0`)
    .join(''),
);

/** Opens one that ends with the scope. `socket`: it is there, and not on a port. */
export async function openFragileDatabase(
  scope: Scope,
  { host, port, user, database }: TestConnection,
  socket?: string,
): Promise<FragileDatabase> {
  const pairs = new Set<readonly [near: Socket, far: Socket]>();
  let asked: string[] = [];
  let armed: { readonly count: number; readonly how: Losing; readonly refused: number } | null = null;
  let refuses = 0;
  const lose = (): void => {
    refuses = armed?.refused ?? 0;
    armed = null;
    for (const [near, far] of pairs) {
      far.unpipe(near).destroy();
      near.end(GONE);
    }
    pairs.clear();
  };
  const server = createServer({ noDelay: true }, (near) => {
    if (refuses > 0) {
      refuses -= 1;
      near.destroy();
      return;
    }
    const far = connect(join(host, `.s.PGSQL.${port}`)).on('error', () => near.destroy());
    const pair = [near, far] as const;
    pairs.add(pair);
    near.on('close', () => {
      pairs.delete(pair);
      far.destroy();
    });
    far.on('close', () => near.end());
    far.pipe(near);
    const hear = statementsIn((statement) => {
      asked.push(statement);
      const now = armed;
      if (now?.count !== asked.length) return true;
      if (now.how === 'unheard') {
        lose();
        return false;
      }
      far
        .unpipe(near)
        .once('data', () => armed === now && lose())
        .resume();
      return true;
    });
    near.on('data', (bytes: Buffer) => {
      for (const piece of hear(bytes)) if (far.writable) far.write(piece);
    });
  });
  if (socket !== undefined) await listeningAt(scope, server, socket);
  const place =
    socket === undefined
      ? { host: '127.0.0.1', port: await listening(scope, server) }
      : { host: dirname(socket), port };
  return {
    url: urlOf({ user, database, ...place }),
    get asked() {
      return asked;
    },
    loseAt(count, how, refused = 0) {
      asked = [];
      armed = { count, how, refused };
    },
  };
}

/**
 * Cuts what a client says into its messages, tells of each statement, and answers what is to be passed on: nothing more
 * from where `tell` says no.
 */
function statementsIn(tell: (statement: string) => boolean): (bytes: Buffer) => Buffer[] {
  let rest = Buffer.alloc(0);
  let isDialled = false;
  const texts = new Map<string, string>();
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const passed: Buffer[] = [];
    for (;;) {
      const head = isDialled ? 1 : 0; // the first message has no type
      if (rest.length < head + 4) return passed;
      const length = head + rest.readUInt32BE(head);
      if (rest.length < length) return passed;
      const whole = rest.subarray(0, length);
      rest = rest.subarray(length);
      const statement = isDialled ? statementOf(whole, texts) : DIAL;
      isDialled = true;
      if (statement !== null && !tell(statement)) return passed;
      passed.push(whole);
    }
  };
}

/** Null: a message that asks for nothing. A statement that is prepared counts where it is bound. */
function statementOf(whole: Buffer, texts: Map<string, string>): string | null {
  const type = String.fromCharCode(whole[0] ?? 0);
  const [first = '', second = ''] = whole.toString('utf8', 5).split('\0');
  if (type === 'P') texts.set(first, second);
  if (type === 'B') return texts.get(second) ?? second;
  return type === 'Q' ? first : null;
}

function message(type: string, body: string): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, Buffer.from(body)]);
}
