/** What every tRPC call knows of its caller. */
import type { Caller } from '../principals.ts';

/** One HTTP request or one WebSocket connection. */
export interface TrpcContext {
  /** Its circumstances for one call: over a WebSocket each call has a request id of its own. */
  caller(): Caller;
  /**
   * Counts a call or subscription under way; false, and not counted, when this connection has too many. Whoever got
   * true says `done`.
   */
  begin(): boolean;
  done(): void;
  /** Null when the connection can take another message of a subscription now, else what resolves when it can. */
  room(): Promise<void> | null;
}
