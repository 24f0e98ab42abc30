/** Passwords as people give them: never as an argument, which others on the machine could read. */
import { text } from 'node:stream/consumers';
import { Option, type Command as Program } from 'commander';
import { hiddenLine } from './hidden-line.ts';
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
  const password = await hiddenLine('Password: ', 'password');
  if (password === '') throw new Problem('no password was given', EXIT.usage);
  if ((await hiddenLine('Again: ', 'password')) !== password) throw new Problem('the two passwords differ', EXIT.usage);
  return password;
}
