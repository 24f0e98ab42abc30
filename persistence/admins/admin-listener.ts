/**
 * What the other admins ask for through the database, done here: work that they stored for nodes of this one, tunnels
 * from nodes whose sessions are here, and the end of those to nodes that are revoked.
 */
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { AdminFrameBody } from '../../transport/protocol/frames.ts';
import type { WakeUps } from '../../supervisors/ports.ts';
import type { ClusterId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import type { Database } from '../connections/database.ts';
import { ADMIN_CHANNEL, readAdminMessage, tellAdmins, type AdminMessage } from './admin-messages.ts';
import { OpenCredentials } from './open-credentials.ts';
import type { Listener, Subscription } from '../connections/listening.ts';
import { ownChannel, readWakeUp } from './own-channel.ts';

/** What it is done with. */
export interface AdminListenerPorts {
  /** False: the node has no session here. */
  readonly sendToNode: (node: NodeId, frame: AdminFrameBody) => boolean;
  readonly tunnels: { end(node: NodeId): void; refuse(node: NodeId): void; nodes(): readonly NodeId[] };
  /** Sessions of nodes whose clusters were given away, which nobody else ends here. */
  readonly strays: { end(node: NodeId): void; nodes(): readonly NodeId[] };
  /** Another admin is here, or this one. */
  readonly heard: (adminId: string) => void;
  /** A sweep of another admin ended executions of this node, if it is here. */
  readonly ended: (node: NodeId, executions: readonly ExecutionId[]) => void;
  /** Another admin handed these over to this one. */
  readonly given: (owned: readonly { readonly cluster: ClusterId; readonly epoch: number }[]) => void;
  /** What they stored for nodes of this one. */
  readonly wakeUps: WakeUps;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
}

/** Wait until what was missed of revoked nodes is looked for again where that failed, in ms: as long as E5 gives. */
export const LOOK_AGAIN_MS = 1_000;

/** Where admins hear each other. */
export interface AdminListenerPlace {
  readonly database: Pick<Database, 'pool'>;
  readonly listener: Pick<Listener, 'hear'>;
  readonly adminId: string;
}

/** Hears them until the result is stopped. */
export function hearAdmins(place: AdminListenerPlace, ports: AdminListenerPorts): Subscription {
  const heard = new HeardAdmins(place, ports);
  const own = ownChannel(place.adminId);
  const hearing = place.listener.hear([ADMIN_CHANNEL, own], (channel, payload) => {
    if (channel === own) heard.wokenBy(payload);
    else heard.told(payload);
  });
  return {
    stop() {
      hearing.stop();
      heard.stop();
    },
  };
}

class HeardAdmins {
  readonly #place: AdminListenerPlace;
  readonly #ports: AdminListenerPorts;
  readonly #credentials: OpenCredentials;
  #hasListened = false;
  /** Number of the newest look for what was missed: an older one that fails is not done again. */
  #look = 0;
  #cancelLook: () => void = () => undefined;

  constructor(place: AdminListenerPlace, ports: AdminListenerPorts) {
    this.#place = place;
    this.#ports = ports;
    this.#credentials = new OpenCredentials(place.database.pool, () => [
      ...ports.tunnels.nodes(),
      ...ports.strays.nodes(),
    ]);
  }

  /**
   * On the channel of this admin. What was stored before it took its clusters up it reads with them: only later silence
   * is a gap.
   */
  wokenBy(payload: string | null): void {
    const { wakeUps } = this.#ports;
    if (payload === null) {
      if (this.#hasListened) wakeUps.missed();
      this.#hasListened = true;
      return;
    }
    const message = readWakeUp(payload);
    if (message?.type === 'owned') this.#ports.given(message.owned);
    else if (message?.type === 'node') wakeUps.moved(message.node, message.cluster);
    else if (message?.type === 'ended') this.#endExecutions(message.ended);
    else if (message?.type === 'update') wakeUps.due(message.requests);
    else if (message !== null) wakeUps.heard(message.type, message.commands);
  }

  /** On the channel of all. */
  told(payload: string | null): void {
    if (payload === null) {
      this.stop();
      return void this.#catchUp(this.#look);
    }
    const { adminId } = this.#place;
    const { tunnels, heard } = this.#ports;
    const message = readAdminMessage(payload);
    if (message === null) return;
    if (message.type === 'here') heard(message.from);
    if (message.type === 'here' && message.from === adminId) this.#remember();
    if (message.type === 'executions-ended' && message.from !== adminId) this.#endExecutions(message.ended);
    if (message.type === 'node-revoked') this.#credentials.forget(message.node);
    if (message.type === 'node-revoked' && message.from !== adminId) this.#endNode(message.node);
    if (message.type === 'tunnel-refused' && message.to === adminId) tunnels.refuse(message.node);
    if (message.type === 'tunnel-wanted' && message.to === adminId) this.#openTunnel(message);
  }

  /** What was missed is not looked for any more. */
  stop(): void {
    this.#look += 1;
    this.#cancelLook();
  }

  #endNode(node: NodeId): void {
    this.#ports.strays.end(node);
    this.#ports.tunnels.end(node);
  }

  #openTunnel({ from, node, token, url, http2 }: Extract<AdminMessage, { type: 'tunnel-wanted' }>): void {
    const { sendToNode, log } = this.#ports;
    if (sendToNode(node, { type: 'open-tunnel', token, admin_url: url, ...(http2 && { http2 }) })) return;
    tellAdmins(this.#place.database.pool, { type: 'tunnel-refused', to: from, node }).catch((error: unknown) =>
      log.debug({ error }, 'another admin waits for a tunnel that will not come'),
    );
  }

  #endExecutions(pairs: readonly (readonly [NodeId, ExecutionId])[]): void {
    for (const [node, ofNode] of Map.groupBy(pairs, ([id]) => id))
      this.#ports.ended(
        node,
        ofNode.map(([, execution]) => execution),
      );
  }

  /** As often as this admin says that it is here. */
  #remember(): void {
    this.#credentials
      .remember()
      .catch((error: unknown) =>
        this.#ports.log.debug({ error }, 'credentials of nodes are not known yet: reading them again later'),
      );
  }

  /**
   * What was said on this channel while nobody listened is worth nothing any more, but that a node is gone, or came
   * back with another credential: executions that ended are among what was missed on the own one. Looked for until that
   * is answered, or the connection was lost again and looks anew.
   */
  async #catchUp(look: number, isAgain = false): Promise<void> {
    const { clock, log } = this.#ports;
    try {
      for (const node of await this.#credentials.over()) this.#endNode(node);
    } catch (error) {
      const problem = 'what other admins ended meanwhile may still be open here: looking again';
      if (isAgain) log.debug({ error }, problem);
      else log.warn({ error }, problem);
      if (look === this.#look) this.#cancelLook = clock.after(LOOK_AGAIN_MS, () => void this.#catchUp(look, true));
    }
  }
}
