/** What a RabbitMQ may say to a client that only publishes: answers. */
import type { Socket } from 'node:net';
import type { Connection } from 'rabbitmq-client';
import { containListeners } from '../../net/streams/contained.ts';

/**
 * Longest frame of a broker, in bytes: RabbitMQ's own default of `frame_max`. The client asks for frames of 8,192, and
 * gathers what is announced, which may be 4 GiB.
 */
export const FRAME_BYTES_MAX = 131_072;

/** Frames of a message: its header, and a piece of its body. Source: AMQP 0-9-1, 4.2.6. */
const MESSAGE_FRAMES: readonly number[] = [2, 3];

/** What the client has for itself. */
interface Inside {
  readonly _socket: Socket;
  _handleChunk(frame: { readonly type: number }): void;
}

/* eslint-disable no-underscore-dangle -- the names are the client's */

/**
 * Ends the connection with its reason, of which the client hears as of any error, when the broker sends a message, or a
 * frame above FRAME_BYTES_MAX: the client would gather a message of whatever length, also one that nobody asked for.
 * The socket, whose listeners are contained.
 */
export function takeAnswersOnly(connection: Connection): Socket {
  const client = connection as unknown as Inside;
  const { _socket: socket } = client;
  containListeners(socket);
  const handle = client._handleChunk.bind(client);
  client._handleChunk = (frame) => {
    if (MESSAGE_FRAMES.includes(frame.type)) throw new Error('it sends messages that nobody asked for');
    handle(frame);
  };
  const read = socket.read.bind(socket) as (bytes?: number) => unknown;
  socket.read = (bytes?: number) => {
    if (bytes === undefined || bytes <= FRAME_BYTES_MAX) return read(bytes);
    socket.destroy(new Error(`it sends a frame of ${bytes} bytes`));
    return null;
  };
  return socket;
}
