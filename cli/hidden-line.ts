/** A line that is typed at a terminal and not shown there: a key or a password. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { EXIT, Problem } from './problem.ts';

/**
 * Asks for one line on the terminal. readline writes what is typed to its output, and this one takes it and shows
 * nothing. Rejects with a Problem that names `what` at Ctrl-C and Ctrl-D.
 */
export async function hiddenLine(prompt: string, what: string): Promise<string> {
  const nowhere = new Writable({
    write: (_chunk, _encoding, done) => {
      done();
    },
  });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  process.stderr.write(prompt);
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve);
      lines.once('close', () => reject(new Problem(`no ${what} was given`, EXIT.interrupted)));
      lines.once('SIGINT', () => lines.close());
    });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
