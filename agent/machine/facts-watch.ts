/** Sees when the machine becomes another one while its agent is connected: a new name, another time zone. */
import { isSameFacts, type NodeFacts } from '../../transport/protocol/facts.ts';

/** How often it looks, in ms. */
export const LOOK_MS = 60_000;

/** What it reads, and whom it tells. */
export interface FactsWatchPorts {
  readonly read: () => NodeFacts;
  /** False: nobody heard it, so that it is told again. */
  readonly say: (facts: NodeFacts) => boolean;
}

/** Knows what was said last. */
export class FactsWatch {
  readonly #ports: FactsWatchPorts;
  #said: NodeFacts | null = null;

  constructor(ports: FactsWatchPorts) {
    this.#ports = ports;
  }

  /** Facts for a hello, which is said now. */
  greeting(): NodeFacts {
    this.#said = this.#ports.read();
    return this.#said;
  }

  /** Says what changed since. Before the first hello there is nobody to say it to. */
  look(): void {
    if (this.#said === null) return;
    const facts = this.#ports.read();
    if (!isSameFacts(this.#said, facts) && this.#ports.say(facts)) this.#said = facts;
  }
}
