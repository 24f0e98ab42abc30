/** Streams that a client has carried to somewhere else (-L, -D, -W): dialled first, then accepted. */
import type { Duplex } from 'node:stream';
import type { Connection, ServerChannel } from 'ssh2';
import type { DialFailure } from '../../../../transport/net/streams/dialled.ts';
import type { Egress } from '../../egress/egress.ts';
import { refuseBeyondLimit } from '../channel-limit.ts';
import { OPEN_FAILURE, giveUp, isOpen, isTold, refuseChannel, sendEnd, silence } from '../library.ts';
import type { SshLimits } from '../limits.ts';
import { ChannelWriter } from '../sessions/channel-writer.ts';

/** What each failure is in the words of SSH. Exhaustive. */
const REASONS: Readonly<Record<DialFailure, number>> = {
  refused: OPEN_FAILURE.connectFailed,
  unreachable: OPEN_FAILURE.connectFailed,
  unresolved: OPEN_FAILURE.connectFailed,
  timed_out: OPEN_FAILURE.connectFailed,
  failed: OPEN_FAILURE.connectFailed,
  offline: OPEN_FAILURE.connectFailed,
  unknown_node: OPEN_FAILURE.connectFailed,
  blocked: OPEN_FAILURE.prohibited,
  loop: OPEN_FAILURE.prohibited,
  overloaded: OPEN_FAILURE.resourceShortage,
};

/** Channels that carry streams of one connection, as long as they are open. */
export type Carried = Set<ServerChannel>;

/**
 * Answers every request of this client for a stream, and adds those that are open to `carried`. Dials under way and
 * open streams end with the connection.
 */
export function carryForwards(client: Connection, egress: Egress, limits: SshLimits, carried: Carried): void {
  const over = new AbortController();
  client.on('end', () => over.abort()).on('close', () => over.abort());
  client.on('tcpip', (accept, reject, { destIP: host, destPort: port }) => {
    if (refuseBeyondLimit(client, reject, limits)) return;
    if (isTold(host)) open(host, port, accept, reject).catch((error: unknown) => giveUp(client, error));
    else reject();
  });

  async function open(host: string, port: number, accept: () => ServerChannel, reject: () => void): Promise<void> {
    const dialled = await egress.dial({ host, port }, 'ssh', over.signal);
    if (!dialled.ok) refuseChannel(client, reject, REASONS[dialled.failure], dialled.message);
    else if (isOpen(client)) joinChannel(client, accept(), dialled.stream, carried);
    else dialled.stream.destroy();
  }
}

/** Carries bytes both ways until both sides are done; a failure of one ends the other. It is in `carried` meanwhile. */
export function joinChannel(client: Connection, channel: ServerChannel, far: Duplex, carried: Carried): void {
  carried.add(channel);
  const writer = new ChannelWriter(client, channel);
  let open = 2;
  const done = () => {
    if (--open === 0 && isOpen(client)) channel.end();
  };
  for (const stream of [channel, channel.stderr]) stream.on('error', () => far.destroy());
  writer.from(far, 'out');
  far.on('end', () =>
    writer.whenEmpty(() => {
      sendEnd(client, channel);
      done();
    }),
  );
  channel.on('end', done);
  channel.pipe(far);
  far.on('error', () => {}); // its close follows
  far.on('close', () => {
    if (far.readableEnded && far.writableFinished) return;
    writer.close();
    if (isOpen(client)) channel.close();
    channel.resume();
  });
  channel.on('close', () => {
    carried.delete(channel);
    // nobody reads any more; what was sent still arrives
    writer.close();
    if (far.writableFinished) far.destroy();
    else far.once('finish', () => far.destroy()).resume();
  });
  const over = () => {
    writer.close();
    silence(channel);
    far.destroy();
  };
  client.once('end', over).once('close', over);
  far.once('close', () => client.off('end', over).off('close', over));
}
