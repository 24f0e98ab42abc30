/** A file of the browser, sent in pieces as there is room for them. */
import type { Connection, Sending } from './connection.ts';

/** What came of it: `unreadable`, it was changed or taken away meanwhile; `ended`, the connection, or who wanted it. */
export type Sent = 'whole' | 'ended' | 'unreadable';

/** Sends it until it is whole, or nobody wants it any more. */
export async function sendFile(file: Blob, connection: Pick<Connection, 'sendPiece'>, sending: Sending): Promise<Sent> {
  const reader = file.stream().getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (!sending.isWanted()) return 'ended';
      if (done) return 'whole';
      if (!(await connection.sendPiece(value, sending))) return 'ended';
    }
  } catch {
    return 'unreadable';
  } finally {
    reader.cancel().catch(() => {}); // it was read to its end, or could not be read: that is told already
  }
}
