/** A way to a PostgreSQL that damages what it says: its frames, and never what an error or a row holds. */
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { damagedMessage } from './damaged-messages.ts';
import { listening } from '../net/listening.ts';
import type { Scope } from '../scope.ts';
import { seededNumbers } from '../seeded.ts';
import { urlOf, type TestConnection } from './server.ts';

/** Stands before one database. */
export interface DamagingDatabase {
  /** As DATABASE_URL has it. */
  readonly url: string;
  /** Messages that were damaged so far. */
  readonly damaged: () => number;
  /** From now on one message of so many is damaged, the connection ending after it; null: none. */
  damageEvery(messages: number | null): void;
}

/** Opens one that ends with the scope, and damages nothing yet. */
export async function openDamagingDatabase(
  scope: Scope,
  { host, port, user, database }: TestConnection,
  seed: number,
): Promise<DamagingDatabase> {
  const numbers = seededNumbers(seed);
  let every: number | null = null;
  let damaged = 0;
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect(join(host, `.s.PGSQL.${port}`)).on('error', () => near.destroy());
    near.on('error', () => {}).on('close', () => far.destroy());
    far.on('close', () => near.end());
    near.pipe(far);
    let rest = Buffer.alloc(0);
    far.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      for (let length; rest.length >= 5 && rest.length >= (length = 1 + rest.readUInt32BE(1));) {
        const whole = rest.subarray(0, length);
        rest = rest.subarray(length);
        if (every === null || numbers() % every !== 0) near.write(whole);
        else {
          damaged += 1;
          near.end(damagedMessage(whole, numbers));
          far.destroy();
          return;
        }
      }
    });
  });
  const place = { host: '127.0.0.1', port: await listening(scope, server) };
  return {
    url: urlOf({ user, database, ...place }),
    damaged: () => damaged,
    damageEvery(messages) {
      every = messages;
    },
  };
}
