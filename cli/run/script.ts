/** What runs on the nodes: a script with the variables and the input that it was given. */
import { Buffer } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { COMMAND_TEXT_BYTES_MAX } from '../../transport/protocol/limits.ts';
import { EXIT, Problem } from '../problem.ts';
import { quotedWord } from '../shell-words.ts';

/** Where the script and its input come from. */
export interface ScriptSource {
  /**
   * Words of the command line: one is a script as it stands, several are joined as a shell shows them, `-` is stdin.
   */
  readonly words: readonly string[];
  /** A file that holds it. */
  readonly file?: string | undefined;
  /** `NAME=VALUE` each. */
  readonly env: readonly string[];
  /** Stdin of this program is stdin of the script on every node. */
  readonly takesStdin: boolean;
  /** What it is when nothing of these is given. */
  readonly fallback?: string | undefined;
  /** Where it is to run, as it was given: what is missing is told with it. */
  readonly places?: string | undefined;
}

/** Ends the documents that are put into a script. No line of base64 holds an underscore. */
const END = 'EDGE_END';

/** Characters of base64 in a line: what other programs write. Source: RFC 2045, 6.8. */
const LINE_CHARS = 76;

/**
 * The text of a command. Variables and input go into it, as the service knows no others: whoever may read commands may
 * read them. Refuses none, two, and one that is too long.
 */
export async function scriptOf(source: ScriptSource): Promise<string> {
  const script = await textOf(source);
  const variables = source.env.map(exportLine);
  const input = source.takesStdin ? await bytesOf(process.stdin, 'stdin') : null;
  const text = wrapped(script, variables, input);
  const bytes = Buffer.byteLength(text);
  if (bytes > COMMAND_TEXT_BYTES_MAX)
    throw new Problem(
      `this makes a command of ${bytes} bytes, and one holds at most ${COMMAND_TEXT_BYTES_MAX}: copy larger files to the nodes first`,
      EXIT.usage,
    );
  return text;
}

async function textOf({ words, file, fallback, takesStdin, places = '-c CLUSTER' }: ScriptSource): Promise<string> {
  if (file !== undefined && words.length > 0)
    throw new Problem('say either --script FILE or a command, not both', EXIT.usage);
  if (file !== undefined) return fileText(file);
  if (words.length === 0) {
    if (fallback !== undefined) return fallback;
    throw new Problem(`a command is missing: edge run ${places} -- COMMAND`, EXIT.usage);
  }
  if (words.length > 1 || words[0] !== '-') return words.join(' ');
  if (takesStdin)
    throw new Problem(
      'stdin is either the script (-) or its input (--stdin): give the script with --script',
      EXIT.usage,
    );
  const script = (await bytesOf(process.stdin, 'the script on stdin')).toString();
  if (script.trim() === '') throw new Problem('the script on stdin is empty', EXIT.usage);
  return script;
}

async function fileText(file: string): Promise<string> {
  let text: string;
  try {
    text = (await bytesOf(createReadStream(file), `--script ${file}`)).toString();
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(
      `--script ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
      EXIT.usage,
    );
  }
  if (text.trim() === '') throw new Problem(`--script ${file} is empty`, EXIT.usage);
  return text;
}

/** All of a stream, which ends before it is longer than a command may be. */
async function bytesOf(stream: AsyncIterable<Buffer>, what: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > COMMAND_TEXT_BYTES_MAX)
      throw new Problem(
        `${what} is longer than ${COMMAND_TEXT_BYTES_MAX} bytes, which is all that a command holds: copy larger files to the nodes first`,
        EXIT.usage,
      );
  }
  return Buffer.concat(chunks);
}

function exportLine(given: string, index: number): string {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/su.exec(given) ?? [];
  if (name === undefined || value === undefined) throw noVariable(given, index);
  return `export ${name}=${quotedWord(value)}`;
}

/** What is shown of a wrong variable: what looks like its name. The rest may be a secret that stands in its place. */
const LOOKS_LIKE_NAME = /^(?<name>[A-Z][A-Z\d_]{0,39}$|[\w.-]{1,40}(?==[^=]))/u;

function noVariable(given: string, index: number): Problem {
  const name = LOOKS_LIKE_NAME.exec(given)?.groups?.['name'];
  if (name === undefined)
    return new Problem(`--env number ${index + 1} is none: it should be like NAME=VALUE`, EXIT.usage);
  return new Problem(
    name === given
      ? `--env ${name} has no value: it should be like ${name}=VALUE`
      : `--env ${name} is no name of a variable: it should be of letters, digits and _, and begin with no digit`,
    EXIT.usage,
  );
}

/** The script with lines before it; one of another interpreter, or with input, from within a script of the shell. */
function wrapped(script: string, variables: readonly string[], input: Buffer | null): string {
  if (variables.length === 0 && input === null) return script;
  const interpreter = /^#!\s*(?<path>\S+)(?:[ \t]+(?<argument>[^\n]*\S))?/u.exec(script)?.groups;
  const isShell = interpreter === undefined || interpreter['path'] === '/bin/sh';
  const words = isShell ? (interpreter?.['argument'] ?? '') : ''; // such as -e
  const lines = [`#!/bin/sh ${words}`.trimEnd(), ...variables];
  if (isShell && input === null) return `${lines.join('\n')}\n${script}`;
  if (!isShell)
    lines.push(
      // no dot in its name: Node takes what follows one as what kind of script it is
      'edge_script=$(mktemp "${TMPDIR:-/tmp}/edge-XXXXXXXX") || exit',
      `trap 'rm -f "$edge_script"' EXIT`,
      "trap 'exit 143' HUP INT TERM", // dash forgets the other one when a signal ends it
      decoded(Buffer.from(script), '> "$edge_script"'),
    );
  const run = isShell
    ? `(\n${script}\n)`
    : [interpreter['path'], interpreter['argument'], '"$edge_script"'].filter(Boolean).join(' ');
  return `${[...lines, input === null ? run : `edge_stdin() {\n${decoded(input, '')}\n}\nedge_stdin | ${run}`].join('\n')}\n`;
}

/** Lines that write these bytes. */
function decoded(bytes: Buffer, target: string): string {
  const lines = bytes.toString('base64').match(new RegExp(`.{1,${LINE_CHARS}}`, 'gu')) ?? [];
  return [`base64 -d ${target}<<'${END}'`, ...lines, END].join('\n');
}
