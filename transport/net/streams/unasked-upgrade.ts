/**
 * The end of a request that is answered by another protocol, for which it did not ask. Node drops the connection of one
 * that has no listener for that, and emits neither `response` nor `error`; a later `destroy(error)`, of a timer or an
 * aborted signal, emits nothing either. Whoever waits for an answer would wait for ever.
 */
import type { ClientRequest } from 'node:http';

/** What a request fails with that was answered by 101. */
export class UnaskedUpgrade extends Error {
  override readonly name = 'UnaskedUpgrade';

  constructor() {
    super('it answers with another protocol than HTTP');
  }
}

/**
 * The same request, which emits `error` with an {@link UnaskedUpgrade} where the other side switches protocols. For
 * every request that asks for no upgrade. It needs a listener of `error`, as any request does.
 */
export function refuseUpgrade(request: ClientRequest): ClientRequest {
  return request.on('upgrade', (_answer, socket) => {
    // Its own listeners left the socket before this, and so a `destroy(error)` of the request would not be told.
    socket.on('error', () => {}).destroy();
    request.emit('error', new UnaskedUpgrade());
  });
}
