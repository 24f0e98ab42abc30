/** Sessions that no actor here answers for: their cluster was given to another admin. */
import type { NodeId } from '../protocol/ids.ts';
import type { Connection } from './connection.ts';
import type { Connections } from './connections.ts';
import type { Departures } from './departures.ts';
import type { SessionPorts } from './session-ports.ts';

/** Those among these. */
export class Strays {
  readonly #connections: Pick<Connections, 'allOf'>;
  readonly #departures: Pick<Departures<Connection>, 'all'>;
  readonly #ports: Pick<SessionPorts, 'holds'>;
  readonly #comeAgain: (connection: Connection) => void;

  /** `comeAgain` ends one: its agent asks to be let in again, and the gate says whether it may. */
  constructor(
    connections: Pick<Connections, 'allOf'>,
    departures: Pick<Departures<Connection>, 'all'>,
    ports: Pick<SessionPorts, 'holds'>,
    comeAgain: (connection: Connection) => void,
  ) {
    this.#connections = connections;
    this.#departures = departures;
    this.#ports = ports;
    this.#comeAgain = comeAgain;
  }

  /** Whatever came with a credential of this node is asked anew: that may be over (E5). */
  end(node: NodeId): void {
    const departing = [...this.#departures.all()].filter((connection) => connection.node === node);
    const foreign = this.#connections.allOf(node).filter(({ cluster }) => !this.#ports.holds(cluster));
    for (const connection of new Set([...departing, ...foreign])) this.#comeAgain(connection);
  }

  /** Whose sessions wait to be told where to go. */
  nodes(): readonly NodeId[] {
    return Array.from(this.#departures.all(), ({ node }) => node);
  }
}
