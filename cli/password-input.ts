/** Passwords as people give them: never as an argument, which others on the machine could read. */
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { Writable } from 'node:stream';
import { Option, type Command as Program } from 'commander';
import { EXIT, Problem } from './problem.ts';

/** Flags of a password. */
export interface PasswordFlags {
  readonly password?: boolean;
  readonly passwordStdin?: boolean;
}

/** Adds `--password` and `--password-stdin` to a command. */
export function addPasswordOptions(command: Program): Program {
  return command
    .addOption(new Option('--password', 'ask for a password').conflicts('passwordStdin'))
    .option('--password-stdin', 'take the password from the first line of stdin');
}

/** The password that was given; null: none is wanted. Refuses an empty one, and to ask where nobody can answer. */
export async function givenPassword({ password, passwordStdin }: PasswordFlags): Promise<string | null> {
  if (passwordStdin === true) return firstLine(await text(process.stdin));
  return password === true ? chosen() : null;
}

function firstLine(given: string): string {
  const [line = ''] = given.split(/\r?\n/u);
  if (line === '') throw new Problem('--password-stdin: stdin holds no password', EXIT.usage);
  return line;
}

/** Asked for twice, since nobody sees what is typed. */
async function chosen(): Promise<string> {
  if (!process.stdin.isTTY)
    throw new Problem('--password asks on a terminal, and this is none: use --password-stdin', EXIT.usage);
  const password = await askedFor('Password: ');
  if (password === '') throw new Problem('no password was given', EXIT.usage);
  if ((await askedFor('Again: ')) !== password) throw new Problem('the two passwords differ', EXIT.usage);
  return password;
}

/** One line from the terminal. readline writes what is typed to its output, and this one takes it and shows nothing. */
async function askedFor(prompt: string): Promise<string> {
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
      lines.once('close', () => reject(new Problem('no password was given', EXIT.interrupted)));
      lines.once('SIGINT', () => lines.close());
    });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
