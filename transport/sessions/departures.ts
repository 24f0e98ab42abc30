/**
 * Agents that are to go to another admin, told at a pace: those of one large cluster do not all come to its new owner
 * at once. Until then they stay connected.
 */
import type { Clock } from '../../actors/ports.ts';
import { DEPARTURE_GAP_MS, DEPARTURE_JITTER_MS } from './limits.ts';

/** What departures need. */
export interface DeparturesPorts<Connection> {
  readonly clock: Pick<Clock, 'after'>;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Says goodbye to one: it goes to this URL; empty: to any admin. */
  tell(connection: Connection, url: string): void;
}

/** Nobody departs at first. */
export class Departures<Connection> {
  readonly #ports: DeparturesPorts<Connection>;
  /** Those that wait to be told, with where they go, in the order in which they are. */
  readonly #waiting = new Map<Connection, string>();
  /** Who waits until nobody is left. */
  #ended: (() => void)[] = [];
  #isPaced = false;

  constructor(ports: DeparturesPorts<Connection>) {
    this.#ports = ports;
  }

  /** Those that wait to be told, in their order. */
  all(): Iterable<Connection> {
    return this.#waiting.keys();
  }

  /** How many wait to be told. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Whether it waits to be told. */
  has(connection: Connection): boolean {
    return this.#waiting.has(connection);
  }

  /** The first is told now, if nobody waits. Who waited already keeps its turn and goes to the newer URL. */
  add(connections: readonly Connection[], url: string): void {
    for (const connection of shuffled(connections, this.#ports.random)) this.#waiting.set(connection, url);
    if (!this.#isPaced) this.#next();
  }

  /** It is gone by itself. */
  forget(connection: Connection): void {
    if (this.#waiting.delete(connection)) this.#resolve();
  }

  /** Resolves when nobody waits any more, or after so many ms, when the rest is told at once. */
  async over(msMax: number): Promise<void> {
    if (this.#waiting.size === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#ports.clock.after(msMax, resolve);
      this.#ended.push(() => {
        cancel();
        resolve();
      });
    });
    this.#tellAll();
  }

  #tellAll(): void {
    for (const connection of this.#waiting.keys()) this.#tell(connection);
  }

  #next(): void {
    const [connection] = this.#waiting.keys();
    this.#isPaced = connection !== undefined;
    if (connection === undefined) return;
    this.#tell(connection);
    const { clock, random } = this.#ports;
    clock.after(DEPARTURE_GAP_MS + random() * DEPARTURE_JITTER_MS, () => this.#next());
  }

  #tell(connection: Connection): void {
    const url = this.#waiting.get(connection);
    if (url === undefined) return;
    this.#waiting.delete(connection);
    this.#ports.tell(connection, url);
    this.#resolve();
  }

  #resolve(): void {
    if (this.#waiting.size > 0) return;
    for (const ended of this.#ended.splice(0)) ended();
  }
}

/** Fisher and Yates: agents of one machine, or that enrolled together, are not told one after another. */
function shuffled<T>(all: readonly T[], random: () => number): readonly T[] {
  const mixed = [...all];
  for (let last = mixed.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [mixed[last], mixed[other]] = [mixed[other] as T, mixed[last] as T];
  }
  return mixed;
}
