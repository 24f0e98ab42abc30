/** What a page says and hears over its WebSockets, message by message of tRPC. */
import type { Page } from 'playwright-core';

/** What of a message tests look at. */
export interface Frame {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly path: string; readonly lastEventId?: string; readonly input?: FrameInput };
  readonly result?: {
    readonly type: string;
    readonly id?: string;
    readonly data?: { readonly data?: { readonly type?: string } };
  };
}

/** Of operations and feeds, together. */
interface FrameInput {
  readonly lastEventId?: string;
  readonly set?: Readonly<Record<string, string>>;
}

/** Tells of each, over connections that are opened from now on. */
export function hearFrames(
  page: Page,
  told: { readonly sent: (frame: Frame) => void; readonly received: (frame: Frame) => void },
): void {
  page.on('websocket', (socket) => {
    socket.on('framesent', ({ payload }) => framesIn(payload).forEach(told.sent));
    socket.on('framereceived', ({ payload }) => framesIn(payload).forEach(told.received));
  });
}

/** What one message has. Signs of life are no JSON. */
export function framesIn(payload: string | Buffer): readonly Frame[] {
  const text = payload.toString();
  return /^[[{]/u.test(text) ? [JSON.parse(text) as Frame | Frame[]].flat() : [];
}

/**
 * When nodes are labelled with what, and when that is answered, as the page says and hears it, over connections that
 * are opened from now on.
 */
export function labellingsOf(page: Page): readonly string[] {
  const calls: string[] = [];
  const underWay = new Map<number | undefined, string>();
  hearFrames(page, {
    sent({ id, params }) {
      if (params?.path !== 'label_nodes') return;
      const label = Object.keys(params.input?.set ?? {}).join();
      underWay.set(id, label);
      calls.push(`asked for ${label}`);
    },
    received({ id }) {
      const label = underWay.get(id);
      if (label !== undefined) calls.push(`done with ${label}`);
    },
  });
  return calls;
}
