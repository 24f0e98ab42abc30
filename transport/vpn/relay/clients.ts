/** The clients of a relay by their keys. */
import type { RelayClient } from './client.ts';
import { CONNECTIONS_OF_KEY_MAX } from './limits.ts';

/** What clients with one key are told. Source: derpserver. */
const DUPLICATE = 'another connection has the same key: packets go to the one that sent last';

interface Slot {
  clients: RelayClient[];
  /** Where packets for the key go: whoever sent last. */
  active: RelayClient;
}

/** None is there at first. */
export class RelayClients {
  readonly #slots = new Map<string, Slot>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Answers how many connections its key has now. What is beyond the limit of a key is ended, the oldest first. */
  enter(client: RelayClient): number {
    this.#count += 1;
    const slot = this.#slots.get(client.id);
    if (slot === undefined) {
      this.#slots.set(client.id, { clients: [client], active: client });
      return 1;
    }
    slot.clients.push(client);
    slot.active = client; // most often it is the same client, back before its last connection was found dead
    while (slot.clients.length > CONNECTIONS_OF_KEY_MAX) slot.clients[0]?.end('too many of one key');
    for (const one of slot.clients) one.warn(DUPLICATE);
    return slot.clients.length;
  }

  leave(client: RelayClient): void {
    this.#count -= 1;
    const slot = this.#slots.get(client.id);
    if (slot === undefined) return;
    slot.clients = slot.clients.filter((one) => one !== client);
    const last = slot.clients.at(-1);
    if (last === undefined) return void this.#slots.delete(client.id);
    if (slot.active === client) slot.active = last;
    if (slot.clients.length === 1) last.warn('');
  }

  /** Packets for its key go to this one from now on. */
  sentLast(client: RelayClient): void {
    const slot = this.#slots.get(client.id);
    if (slot !== undefined) slot.active = client;
  }

  /** Where packets for this key go. */
  activeOf(id: string): RelayClient | undefined {
    return this.#slots.get(id)?.active;
  }

  ofKey(id: string): readonly RelayClient[] {
    return this.#slots.get(id)?.clients ?? [];
  }

  /** Those that are ended meanwhile do no harm. */
  *all(): Generator<RelayClient, void, undefined> {
    for (const slot of this.#slots.values()) yield* slot.clients;
  }
}
