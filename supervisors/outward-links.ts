/**
 * What actors reach beyond this admin's rows: agents, VPNs, receivers of webhooks. Those need the actors to be there,
 * so they are connected once they are open. Nobody lives here before that, so nobody misses them.
 */
import type { GatewayLink, SessionLink, WebhookSender, WebhookSupply } from './ports.ts';

/** The links. */
export interface OutwardLinks {
  readonly sessions: SessionLink;
  readonly gateway: GatewayLink;
  readonly webhookSender: WebhookSender;
  readonly webhookSupply: WebhookSupply;
}

/** Links that lead nowhere until they are connected: whoever uses them before has found a bug. */
export interface ConnectableLinks extends OutwardLinks {
  /** From now on they lead there. Called once. */
  readonly connect: (links: OutwardLinks) => void;
}

/** Not connected yet. */
export function createOutwardLinks(): ConnectableLinks {
  let connected: OutwardLinks | null = null;
  const links = (): OutwardLinks => {
    if (connected === null) throw new Error('An actor reached out before the links were connected.');
    return connected;
  };
  return {
    connect(to) {
      connected = to;
    },
    sessions: {
      send: (session, frame, cluster) => links().sessions.send(session, frame, cluster),
      hangUp: (session, code, reason) => links().sessions.hangUp(session, code, reason),
      renew: (session, cluster) => links().sessions.renew(session, cluster),
      hangUpNode: (node, code, reason) => links().sessions.hangUpNode(node, code, reason),
      depart: (clusters, url) => links().sessions.depart(clusters, url),
      departing: () => links().sessions.departing(),
      departed: (msMax) => links().sessions.departed(msMax),
    },
    gateway: { become: (vpn) => links().gateway.become(vpn) },
    webhookSender: {
      send: (webhook, delivery) => links().webhookSender.send(webhook, delivery),
      cut: (webhook) => links().webhookSender.cut(webhook),
    },
    webhookSupply: {
      next: (webhook, asked) => links().webhookSupply.next(webhook, asked),
      stored: (webhook, cursor) => links().webhookSupply.stored(webhook, cursor),
      ended: (webhook) => links().webhookSupply.ended(webhook),
    },
  };
}
