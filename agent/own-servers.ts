/** The servers of this agent as admins reach them: by their names, or by the ports that admins were told. */
import type { TunnelServer } from '../transport/protocol/tunnel.ts';
import type { OwnPlace } from './listening.ts';

/** What a stream of an admin asks for: a port of the machine, and perhaps by name the server that it means. */
export interface AskedServer {
  readonly server?: TunnelServer | undefined;
  readonly port: number;
}

interface Known {
  /** The port that admins are told of. */
  readonly toldPort: number;
  readonly place: OwnPlace | null;
}

/** None at first; each tells of itself once it listens, or does not. */
export class OwnServers {
  readonly #known = new Map<TunnelServer, Known>();

  /** `place` null: it does not listen. */
  tell(server: TunnelServer, toldPort: number, place: OwnPlace | null): void {
    this.#known.set(server, { toldPort, place });
  }

  /**
   * Where the server that is meant listens; null: nowhere, and whoever has its port is not it. Undefined: none of this
   * agent is meant.
   */
  find({ server, port }: AskedServer): OwnPlace | null | undefined {
    if (server !== undefined) return this.#known.get(server)?.place ?? null;
    const known = [...this.#known.values()];
    const found = known.find(({ place }) => place?.port === port) ?? known.find(({ toldPort }) => toldPort === port);
    return found?.place;
  }
}
