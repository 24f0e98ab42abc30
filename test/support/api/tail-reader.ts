/** What a reader of the live output of an execution knows, by the rules of the feed. */
import type { TailMessage } from '../../../api/feeds/tail.ts';
import { FLEET_KEYS } from '../fleet.ts';
import type { Scope } from '../scope.ts';
import { socketClient } from './trpc-clients.ts';

/** Nothing was heard at first; a snapshot at 0 begins anew. */
export class TailReader {
  text = '';
  /** Places where something was told twice or left out. */
  readonly faults: string[] = [];
  beganAnew = 0;
  status: string | null = null;
  end: string | null = null;
  /** Of the message that came last. */
  id: string | undefined;

  hear(message: TailMessage, id?: string): void {
    this.id = id;
    if (message.type === 'end') this.end = message.status;
    if (message.type === 'snapshot') {
      this.status = message.status;
      if (this.text !== '' && message.offset === 0) this.beganAnew += 1;
      if (message.offset === 0) this.text = '';
    }
    if (message.type !== 'output') return;
    if (message.offset !== Buffer.byteLength(this.text)) this.faults.push(`${message.offset} at ${this.text.length}`);
    this.text += message.text;
  }
}

/** A reader at the admin with this URL, until the scope ends. */
export function tailedAt(scope: Scope, url: string, execution: string): TailReader {
  const reader = new TailReader();
  const subscription = followAt(scope, url, execution, reader);
  scope.teardown(async () => Promise.resolve(subscription.unsubscribe()));
  return reader;
}

/** Tells the reader what comes behind what it had last, until it is unsubscribed. */
export function followAt(scope: Scope, url: string, execution: string, reader: TailReader) {
  const client = socketClient(scope as never, url, FLEET_KEYS.API_KEY);
  const from = { id: execution, ...(reader.id !== undefined && { lastEventId: reader.id }) };
  return client.executions.tail.subscribe(from, { onData: (told) => reader.hear(told.data, told.id) });
}
