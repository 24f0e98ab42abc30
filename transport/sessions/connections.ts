/**
 * The connections that there are: by session, and of each node the one that said hello last and those that have not
 * yet.
 */
import type { NodeId, SessionId } from '../protocol/ids.ts';
import type { Connection } from './connection.ts';

/** None at first. */
export class Connections {
  readonly #all = new Map<SessionId, Connection>();
  readonly #greeted = new Map<NodeId, Connection>();
  /** Each for HELLO_MS_MAX at most. */
  readonly #ungreeted = new Map<NodeId, Set<Connection>>();

  get size(): number {
    return this.#all.size;
  }

  /** It was let in. */
  add(connection: Connection): void {
    this.#all.set(connection.id, connection);
    const ofNode = this.#ungreeted.get(connection.node) ?? new Set();
    this.#ungreeted.set(connection.node, ofNode.add(connection));
  }

  /** It said hello, and takes the place of the one before. */
  greeted(connection: Connection): void {
    this.#heard(connection);
    this.#greeted.set(connection.node, connection);
  }

  /** False: it was gone already. */
  remove(connection: Connection): boolean {
    this.#heard(connection);
    if (this.#greeted.get(connection.node) === connection) this.#greeted.delete(connection.node);
    return this.#all.delete(connection.id);
  }

  get(session: SessionId): Connection | undefined {
    return this.#all.get(session);
  }

  values(): Iterable<Connection> {
    return this.#all.values();
  }

  /** The one of a node that said hello last. */
  of(node: NodeId): Connection | undefined {
    return this.#greeted.get(node);
  }

  /** The last that said hello, of each node. */
  ofNodes(): Iterable<Connection> {
    return this.#greeted.values();
  }

  /** What the node has, also where it has not said hello. */
  allOf(node: NodeId): readonly Connection[] {
    const greeted = this.#greeted.get(node);
    return [...(this.#ungreeted.get(node) ?? []), ...(greeted === undefined ? [] : [greeted])];
  }

  #heard(connection: Connection): void {
    const ofNode = this.#ungreeted.get(connection.node);
    if (ofNode?.delete(connection) === true && ofNode.size === 0) this.#ungreeted.delete(connection.node);
  }
}
