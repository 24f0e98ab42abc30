/** A socket knows its connection, so that ten thousand sockets share three listeners. */
import type { WebSocket } from 'ws';
import type { Connection } from './connection.ts';

const CONNECTION = Symbol('connection');
type Tagged = WebSocket & { [CONNECTION]?: Connection };

/** Who hears of all sockets. */
export interface SocketOwner {
  message(connection: Connection | undefined, data: Buffer, isBinary: boolean): void;
  closed(connection: Connection | undefined): void;
  failed(connection: Connection | undefined, error: Error): void;
}

/** Three listeners for all sockets of one owner. */
export class SocketListeners {
  readonly #message: (this: WebSocket, data: Buffer, isBinary: boolean) => void;
  readonly #closed: (this: WebSocket) => void;
  readonly #failed: (this: WebSocket, error: Error) => void;

  constructor(owner: SocketOwner) {
    this.#message = function message(data, isBinary) {
      owner.message((this as Tagged)[CONNECTION], data, isBinary);
    };
    this.#closed = function closed() {
      owner.closed((this as Tagged)[CONNECTION]);
    };
    this.#failed = function failed(error) {
      owner.failed((this as Tagged)[CONNECTION], error);
    };
  }

  /** What comes on this socket is its connection's from now on. */
  attach(socket: WebSocket, connection: Connection): void {
    (socket as Tagged)[CONNECTION] = connection;
    socket.on('message', this.#message);
    socket.on('close', this.#closed);
    socket.on('error', this.#failed);
  }

  /** The socket of one that is attached has another connection. */
  renew(connection: Connection): void {
    (connection.socket as Tagged)[CONNECTION] = connection;
  }
}
