/** What goes to stdout and stderr: data there, and what is said to the person here. */
import { showsColours } from './colours.ts';
import { plainOutput, plainText } from './plain-text.ts';
import { EXIT } from './problem.ts';

/** Writes what scripts said: to a terminal without what it would obey, to a file or a program as it is. */
export function writeOutput(text: string): Promise<void> {
  return write(process.stdout.isTTY ? plainOutput(text, { colours: showsColours(process.stdout, process.env) }) : text);
}

/** Writes to stdout and waits until it is taken. A reader that went away (`| head`) ends the program quietly. */
export async function write(text: string): Promise<void> {
  if (text === '') return;
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(text, (error) => {
      if (error == null) resolve();
      else if ((error as NodeJS.ErrnoException).code === 'EPIPE') process.exit(EXIT.ok);
      else reject(error);
    });
  });
}

/** Says something to the person, on stderr. */
export function tell(line: string): void {
  process.stderr.write(`edge: ${plainText(line)}\n`);
}
