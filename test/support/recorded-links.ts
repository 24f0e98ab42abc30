/** Sessions and webhooks that only remember what actors did with them. */
import type { Attempt, DeliveryRef } from '../../actors/webhook/delivery.ts';
import type { SessionLink, WebhookSender } from '../../supervisors/ports.ts';
import type { AdminFrameBody } from '../../transport/protocol/frames.ts';
import type { ClusterId, NodeId, SessionId } from '../../transport/protocol/ids.ts';

/** What sessions were told, in order. */
export interface RecordedSessions extends SessionLink {
  /** `cluster`: whose the session is from then on, where that was said. */
  readonly frames: { readonly session: SessionId; readonly frame: AdminFrameBody; readonly cluster?: ClusterId }[];
  readonly hungUp: { readonly session: SessionId | null; readonly node: NodeId | null; readonly code: number }[];
}

/** Sessions that remember. */
export function recordedSessions(): RecordedSessions {
  const frames: RecordedSessions['frames'] = [];
  const hungUp: RecordedSessions['hungUp'] = [];
  return {
    frames,
    hungUp,
    send: (session, frame, cluster) => void frames.push({ session, frame, ...(cluster !== undefined && { cluster }) }),
    hangUp: (session, code) => void hungUp.push({ session, node: null, code }),
    renew: (session) => void hungUp.push({ session, node: null, code: 4010 }),
    hangUpNode: (node, code) => void hungUp.push({ session: null, node, code }),
    depart: () => undefined,
    departing: () => 0,
    departed: () => Promise.resolve(),
  };
}

/** Requests to webhooks, in order. Each waits until a test says what it came to. */
export interface RecordedSender extends WebhookSender {
  readonly sent: {
    readonly webhook: string;
    readonly delivery: DeliveryRef;
    readonly end: (attempt: Attempt | null) => void;
  }[];
  readonly cuts: string[];
}

/** Requests that are remembered. */
export function recordedSender(): RecordedSender {
  const sent: RecordedSender['sent'] = [];
  const cuts: string[] = [];
  return {
    sent,
    cuts,
    send: (webhook, delivery) =>
      new Promise((end) => {
        sent.push({ webhook: webhook.id, delivery, end });
      }),
    cut: (webhook) => void cuts.push(webhook),
  };
}
