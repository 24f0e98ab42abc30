/** What an action of a client has to work with. */
import type { Call, Request } from './history.ts';
import type { Landscape } from './landscape.ts';
import type { SimulatedNodes } from './simulated-nodes.ts';

/** What an action has to work with. Numbers are whole, from 0 on, the same for the same seed. */
export interface Hand {
  readonly land: Landscape;
  readonly nodes: SimulatedNodes;
  number(): number;
  /** An id of a node, the same for the same seed. */
  id(): string;
  /** On the clock of the history. */
  nowMs(): number;
  /** A text that nobody else has. */
  mark(): string;
  /**
   * Asks an admin by chance. `cluster`: whose owner does it; null: nobody's. `again`: as clients do who were not told,
   * once more at another admin, twice at most. Resolves with the last call.
   */
  ask(
    request: Request,
    cluster: string | null,
    more?: { readonly body?: object; readonly again?: boolean },
  ): Promise<Call>;
  /** Reads the executions of a command at an admin by chance, and notes them. */
  see(command: string): Promise<void>;
  /** What a machine comes with that has this enrolment key; null: it could not be read. */
  blob(id: string): Promise<string | null>;
  /** Watches a command at an admin by chance. */
  watch(command: string): void;
}
