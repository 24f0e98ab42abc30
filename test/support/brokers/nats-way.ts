/** The way of one admin to a NATS server: what the admin publishes is seen, and can be kept from the server. */
import { connect, createServer, type Socket } from 'node:net';
import { listening } from '../net/listening.ts';
import type { Scope } from '../scope.ts';

/** Stands before a server. */
export interface NatsWay {
  /** For EVENT_BROKER_NATS_URLS. */
  readonly url: string;
  /** Ids of the events that were published to JetStream over it, in order, with those that the server has not got. */
  readonly published: readonly string[];
  /** What is published from now on waits, and all behind it on that connection, until it goes on or is cut. */
  readonly hold: () => void;
  /** What waits goes on. */
  readonly goOn: () => void;
  /** Ends all connections; nobody gets what waits on them. New ones come through, and are held as before. */
  readonly cut: () => void;
}

/** The header by which JetStream tells repeats. Source: NATS documentation, JetStream, Nats-Msg-Id. */
const ID_HEADER = /^Nats-Msg-Id: ?(\S+)\r?$/u;

/** Opens one to a port of this machine; it ends with the scope. */
export async function openNatsWay(scope: Scope, serverPort: number): Promise<NatsWay> {
  const published: string[] = [];
  const waiting: (() => void)[] = [];
  const sockets = new Set<Socket>();
  let isHeld = false;
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: '127.0.0.1', port: serverPort, noDelay: true });
    let line = '';
    let isWaiting = false;
    const pass = (bytes: Buffer): void => {
      if (!far.destroyed) far.write(bytes);
    };
    near.on('data', (bytes: Buffer) => {
      const lines = (line + bytes.toString('latin1')).split('\n');
      line = lines.pop() ?? '';
      const ids = lines.flatMap((text) => ID_HEADER.exec(text)?.[1] ?? []);
      published.push(...ids);
      isWaiting = isHeld && (isWaiting || ids.length > 0);
      if (isWaiting) waiting.push(() => pass(bytes));
      else pass(bytes);
    });
    far.on('data', (bytes: Buffer) => near.destroyed || near.write(bytes));
    sockets.add(near);
    near
      .on('error', () => {})
      .on('close', () => {
        sockets.delete(near);
        far.destroy();
      });
    far.on('error', () => {}).on('close', () => near.destroy());
  });
  return {
    url: `nats://127.0.0.1:${await listening(scope, server)}`,
    published,
    hold() {
      isHeld = true;
    },
    goOn() {
      isHeld = false;
      for (const pass of waiting.splice(0)) pass();
    },
    cut() {
      waiting.length = 0;
      for (const socket of sockets) socket.destroy();
    },
  };
}
