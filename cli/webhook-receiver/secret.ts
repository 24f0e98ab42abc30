/** Secrets of webhooks as they are given on the command line, or made. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Option, type Command as Program } from 'commander';
import { EXIT, Problem } from '../problem.ts';

/** Random bytes of a secret that is made. Source: Standard Webhooks 1.0, 24 to 64. */
const SECRET_BYTES = 32;

/** Flags of a secret. */
export interface SecretFlags {
  readonly secret?: string;
  readonly secretFile?: string;
}

/** Adds `--secret` and `--secret-file` to a command. */
export function addSecretOptions(command: Program): Program {
  return command
    .addOption(
      new Option(
        '--secret <secret>',
        'what deliveries are signed with; others on this machine may see it in the list of processes',
      ).conflicts('secretFile'),
    )
    .option('--secret-file <file>', 'the file that holds it, without the newline at its end');
}

/** The secret that was given; null: none. Refuses an empty one, and a file that cannot be read. */
export function givenSecret({ secret, secretFile }: SecretFlags): string | null {
  if (secret === '') throw new Problem('--secret is empty', EXIT.usage);
  return secretFile === undefined ? (secret ?? null) : secretIn(secretFile);
}

/** A new one, in the form that every library of Standard Webhooks takes. */
export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

function secretIn(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Problem(
      `--secret-file ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
      EXIT.usage,
    );
  }
  const secret = text.replace(/\r?\n$/u, '');
  if (secret === '') throw new Problem(`--secret-file ${file} is empty`, EXIT.usage);
  return secret;
}
