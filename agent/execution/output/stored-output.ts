/**
 * The output of a finished execution, for those who watch: the journal's stored text, where nothing was cut out of it.
 */
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import type { OutputCursor, SessionJournal } from '../../session/ports.ts';

/** Reads the stored text from byte `offset`; over from the start, since nothing is added. */
export function storedOutputCursor(journal: SessionJournal, execution: ExecutionId, offset: number): OutputCursor {
  let next = offset;
  return {
    ended: true,
    get offset() {
      return next;
    },
    read(bytesMax) {
      const piece = journal.output(execution, next, bytesMax);
      if (piece === null || piece.text === '') return null;
      const from = next;
      next = piece.next;
      return { offset: from, text: piece.text };
    },
    close() {},
  };
}
