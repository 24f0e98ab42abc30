/** Tells who is gone and who took over, as it happens. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Api } from '../service/client.ts';
import type { DemoAdmin } from './admins.ts';

/** Pause between two looks, in ms. */
const LOOK_EVERY_MS = 200;

/** Which admin owns each cluster now, by name. A cluster that nobody owns is not in it. */
export async function ownersNow(api: Api): Promise<ReadonlyMap<string, string>> {
  const clustersOf = await api.list_edge_clusters.query({});
  return new Map(
    Object.entries(clustersOf).flatMap(([admin, clusters]) =>
      Object.keys(clusters).map((cluster) => [cluster, admin] as const),
    ),
  );
}

/** An admin that is gone, and what it owned then. */
interface Gone {
  readonly name: string;
  readonly atMs: number;
  readonly clusters: readonly string[];
  /** Resolves `takenOver`. */
  readonly told: () => void;
}

/** Looks until it is ended. */
export class OwnerWatch {
  readonly #api: Api;
  readonly #say: (line: string) => void;
  readonly #ended = new AbortController();
  #gone: readonly Gone[] = [];
  readonly #takenOver = new Map<string, Promise<void>>();
  #owners: ReadonlyMap<string, string> = new Map();

  constructor(api: Api, admins: readonly DemoAdmin[], say: (line: string) => void) {
    this.#api = api;
    this.#say = say;
    for (const admin of admins)
      this.#takenOver.set(
        admin.name,
        new Promise((told) => {
          void admin.ended.then((how) => this.#went(admin, how, told));
        }),
      );
    void this.#look();
  }

  /** Resolves when all that this admin owned at its end has another owner. */
  async takenOver(name: string): Promise<void> {
    await this.#takenOver.get(name);
  }

  /** Says nothing from now on. */
  end(): void {
    this.#ended.abort();
  }

  #went({ name, pid }: DemoAdmin, how: string, told: () => void): void {
    if (this.#ended.signal.aborted) return;
    const clusters = [...this.#owners].flatMap(([cluster, owner]) => (owner === name ? [cluster] : []));
    this.#gone = [...this.#gone, { name, atMs: performance.now(), clusters, told }];
    this.#say(`\n${name} (process ${pid}) is gone: ${how}. It owned ${clusters.join(' and ') || 'nothing'}.`);
  }

  async #look(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const owners = await ownersNow(this.#api).catch(() => null); // the next look goes to another admin
      if (owners !== null && !signal.aborted) this.#compare(owners);
      await wait(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #compare(owners: ReadonlyMap<string, string>): void {
    const before = this.#owners;
    // who had it last is remembered while nobody has it
    this.#owners = new Map([...before, ...owners]);
    for (const [cluster, owner] of owners) {
      const last = before.get(cluster);
      if (last !== undefined && last !== owner) this.#say(`${cluster}: ${last} → ${owner}`);
    }
    const taken = this.#gone.filter(({ name, clusters }) =>
      clusters.every((cluster) => (owners.get(cluster) ?? name) !== name),
    );
    for (const { name, atMs, clusters, told } of taken) {
      const seconds = ((performance.now() - atMs) / 1_000).toFixed(1);
      if (clusters.length > 0) this.#say(`All that ${name} owned has an owner again, ${seconds} s after its end.`);
      told();
    }
    this.#gone = this.#gone.filter((one) => !taken.includes(one));
  }
}
