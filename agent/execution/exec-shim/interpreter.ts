/** Which program runs a script. */

/** A program and the one argument that a `#!` line may give it; empty for none. */
export interface Interpreter {
  readonly program: string;
  readonly argument: string;
}

/** Bytes of the `#!` line that count. Source: BINPRM_BUF_SIZE of Linux. */
const LINE_CHARACTERS_MAX = 256;

/**
 * The interpreter of the script's `#!` line, split as the kernel does: the program, and the rest of the line as one
 * argument. A carriage return at its end is dropped, which the kernel would not do: scripts pasted on Windows bring it.
 * Any other script is for /bin/sh. The script itself is run byte for byte as it came.
 */
export function interpreterOf(script: string): Interpreter {
  const line = /^#![ \t]*([^\s\0]+)[ \t]*([^\n\0]*)/.exec(script.slice(0, LINE_CHARACTERS_MAX));
  if (line === null) return { program: '/bin/sh', argument: '' };
  return { program: line[1] ?? '', argument: (line[2] ?? '').trim() };
}
