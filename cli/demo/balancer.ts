/** A small TCP balancer: what comes to one of its fronts goes, in turns, to a server that answers its health check. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** Where it listens and the servers listen. */
const LOOPBACK = '127.0.0.1';

/** Pause between two checks of a server, in ms. */
const CHECK_EVERY_MS = 500;

/** Longest wait for the answer of one, in ms: a machine that starts all this is busy. */
const CHECK_MS_MAX = 2_000;

/** A server that does not answer so many checks in a row gets no connections, and loses those that it has. */
const SILENT_CHECKS_MAX = 2;

/** Connections that are open at once, over all fronts; more are closed at once. */
const CONNECTIONS_MAX = 2_048;

/** Longest wait for a connection to a server, in ms; then the next one is tried. */
const DIAL_MS_MAX = 1_000;

/** A server behind the balancer. */
export interface BalancedServer {
  /** A GET of it is answered with a 2xx while the server wants connections. */
  readonly checkUrl: string;
  /** Its port for each front, in their order. */
  readonly ports: readonly number[];
}

/** What is known of a server. */
interface Target extends BalancedServer {
  readonly connections: Set<Socket>;
  isUp: boolean;
  silentChecks: number;
}

/** A balancer that listens. Every connection is passed on as it is, so WebSockets and TLS pass too. */
export class Balancer {
  readonly #targets: readonly Target[];
  readonly #servers: readonly Server[];
  readonly #closing = new AbortController();
  #open = 0;
  #turn = 0;

  private constructor(fronts: readonly number[], servers: readonly BalancedServer[]) {
    this.#targets = servers.map((server) => ({ ...server, connections: new Set(), isUp: true, silentChecks: 0 }));
    this.#servers = fronts.map((_port, front) =>
      createServer({ allowHalfOpen: true, noDelay: true }, (near) => this.#accept(near, front)),
    );
  }

  /** Listens on these ports of loopback, and checks the servers until it is closed. Rejects where a port is taken. */
  static async open(fronts: readonly number[], servers: readonly BalancedServer[]): Promise<Balancer> {
    const balancer = new Balancer(fronts, servers);
    await Promise.all(
      balancer.#servers.map(async (server, front) => {
        server.listen(fronts[front], LOOPBACK);
        await once(server, 'listening');
      }),
    );
    for (const target of balancer.#targets) void balancer.#check(target);
    return balancer;
  }

  /** Takes no more connections and cuts those that are open. */
  async close(): Promise<void> {
    this.#closing.abort();
    const closed = this.#servers.map((server) => once(server.close(), 'close'));
    for (const target of this.#targets) cut(target);
    await Promise.all(closed);
  }

  #accept(near: Socket, front: number): void {
    near.on('error', () => near.destroy());
    if (this.#open >= CONNECTIONS_MAX || this.#closing.signal.aborted) return void near.destroy();
    this.#open += 1;
    near.once('close', () => {
      this.#open -= 1;
    });
    this.#turn = (this.#turn + 1) % this.#targets.length;
    const inTurn = [...this.#targets.slice(this.#turn), ...this.#targets.slice(0, this.#turn)];
    const up = inTurn.filter(({ isUp }) => isUp);
    this.#dial(near, front, up.length > 0 ? up : inTurn); // nobody was seen to be up yet: somebody may be all the same
  }

  /** To the first of these that takes the connection: nothing was said on it yet. */
  #dial(near: Socket, front: number, [target, ...others]: readonly Target[]): void {
    if (target === undefined || near.destroyed) return void near.destroy();
    const far = connect({ host: LOOPBACK, port: target.ports[front] ?? 0, allowHalfOpen: true, noDelay: true });
    const next = (): void => {
      far.destroy();
      this.#dial(near, front, others);
    };
    far.once('error', next).setTimeout(DIAL_MS_MAX, next);
    far.once('connect', () => {
      far.off('error', next).on('error', () => near.destroy());
      far.setTimeout(0).removeListener('timeout', next);
      target.connections.add(far);
      far.once('close', () => {
        target.connections.delete(far);
        near.destroy();
      });
      near.once('close', () => far.destroy());
      if (near.destroyed) far.destroy();
      else near.pipe(far).pipe(near);
    });
  }

  async #check(target: Target): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const answer = await answerOf(target.checkUrl, signal);
      target.silentChecks = answer === null ? target.silentChecks + 1 : 0;
      if (answer !== null) target.isUp = answer; // one that says no goes on with what it has
      if (target.silentChecks >= SILENT_CHECKS_MAX) {
        target.isUp = false;
        cut(target);
      }
      await wait(CHECK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Whether it is a 2xx; null: there is none. */
async function answerOf(url: string, closing: AbortSignal): Promise<boolean | null> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([closing, AbortSignal.timeout(CHECK_MS_MAX)]) });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return null;
  }
}

function cut({ connections }: Target): void {
  for (const connection of connections) connection.destroy();
}
