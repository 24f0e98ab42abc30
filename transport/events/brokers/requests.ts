/** Events in requests of limited size, several under way at a time, as managed brokers want them. */
import type { PublishedEvent } from './broker.ts';

/** What fits into one request, and how many may be under way. */
export interface RequestLimits {
  readonly eventsMax: number;
  /** Of all its events, as `bytesOf` counts them. An event that is larger by itself is alone in its request. */
  readonly bytesMax: number;
  readonly requestsMax: number;
  readonly bytesOf: (event: PublishedEvent) => number;
  /** Events of different groups are never in one request. */
  readonly groupOf: (event: PublishedEvent) => string;
}

/**
 * Sends all events. A request waits for those before it that hold an event of the same subject, so that each subject
 * stays in order.
 * Rejects with the first that fails; those that wait for it are not sent.
 */
export async function sendInRequests(
  events: readonly PublishedEvent[],
  limits: RequestLimits,
  send: (events: readonly PublishedEvent[]) => Promise<void>,
): Promise<void> {
  const latest = new Map<string, Promise<void>>();
  const sent: Promise<void>[] = [];
  for (const request of requestsOf(events, limits)) {
    const before = [sent.at(-limits.requestsMax), ...request.map((event) => latest.get(event.subject))];
    const done = Promise.all(before.filter((promise) => promise !== undefined)).then(() => send(request));
    for (const event of request) latest.set(event.subject, done);
    sent.push(done);
  }
  await Promise.all(sent);
}

/** Each group's events in order, cut where a request is full. */
function requestsOf(
  events: readonly PublishedEvent[],
  { eventsMax, bytesMax, bytesOf, groupOf }: RequestLimits,
): PublishedEvent[][] {
  const requests: PublishedEvent[][] = [];
  const open = new Map<string, { readonly events: PublishedEvent[]; bytes: number }>();
  for (const event of events) {
    const group = groupOf(event);
    const bytes = bytesOf(event);
    let request = open.get(group);
    if (request === undefined || request.events.length === eventsMax || request.bytes + bytes > bytesMax) {
      request = { events: [], bytes: 0 };
      open.set(group, request);
      requests.push(request.events);
    }
    request.events.push(event);
    request.bytes += bytes;
  }
  return requests;
}
