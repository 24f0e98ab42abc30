/** What goes to stdout and stderr: data there, and what is said to the person here. */
import { showsColours } from './colours.ts';
import { plainOutput, plainText } from './plain-text.ts';
import { EXIT } from '../problem.ts';

/** Writes what scripts said: to a terminal without what it would obey, to a file or a program as it is. */
export function writeOutput(text: string): Promise<void> {
  return write(shownOutput(text));
}

/** What scripts said, as it may go to this stdout. */
export function shownOutput(text: string): string {
  return process.stdout.isTTY ? plainOutput(text, { colours: showsColours(process.stdout, process.env) }) : text;
}

/** Writes to stdout and waits until it is taken. A reader that went away (`| head`) ends the program quietly. */
export async function write(text: string): Promise<void> {
  if (text === '') return;
  try {
    await writeForReader(text);
  } catch (error) {
    if (isReaderGone(error)) process.exit(EXIT.ok);
    throw error;
  }
}

/** The same, and rejects when the reader went away: for a program that has something to undo before it ends. */
export function writeForReader(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error == null ? resolve() : reject(error)));
  });
}

/**
 * What is said of a reader that has gone: by the system, also where it left something unread, and by a stream after
 * that.
 */
const READER_GONE: readonly (string | undefined)[] = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'];

/** Whether something could not be written as whoever read it (`| head`) had enough. */
export function isReaderGone(error: unknown): boolean {
  return READER_GONE.includes((error as NodeJS.ErrnoException).code);
}

/** Says something to the person, on stderr. */
export function tell(line: string): void {
  process.stderr.write(`edge: ${plainText(line)}\n`);
}
