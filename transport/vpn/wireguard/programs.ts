/** Programs and places of a machine that WireGuard needs, and how such a program is run. */
import type { ExecFileException } from 'node:child_process';
import { execute } from '../../net/execute.ts';
import { DeviceProblem } from './problem.ts';

/** What is used of a machine. */
export interface Machine {
  /** Of iproute2. */
  readonly ip: string;
  /** Of wireguard-tools; needed for WireGuard in the kernel only. */
  readonly wg: string;
  readonly wireguardGo: string;
  /** Where wireguard-go has its sockets, whatever the network that it is in: it cannot be told another. */
  readonly sockets: string;
  readonly tun: string;
}

/** As on every Linux machine. */
export const LINUX: Machine = {
  ip: 'ip',
  wg: 'wg',
  wireguardGo: 'wireguard-go',
  sockets: '/var/run/wireguard',
  tun: '/dev/net/tun',
};

/** Directories of administrators' programs: often not on the PATH of a service. */
const MORE_PATHS = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin'];

/** All that a program here sees of the environment (E4). */
export function programEnvironment(): { PATH: string } {
  const own = (process.env['PATH'] ?? '').split(':');
  return {
    PATH: [...own, ...MORE_PATHS.filter((path) => !own.includes(path))].filter((path) => path !== '').join(':'),
  };
}

/** Packages that have these programs, under the names that most distributions give them. */
const PACKAGES: Readonly<Record<string, string>> = {
  ip: 'iproute2',
  wg: 'wireguard-tools',
  'wireguard-go': 'wireguard-go',
};

/** What one run may cost. */
export interface RunLimits {
  readonly programMsMax: number;
  readonly programBytesMax: number;
}

/** A program that could not be run, or failed. */
export class ProgramFailure extends DeviceProblem {
  override readonly name = 'ProgramFailure';
  /** It is not on this machine. */
  readonly isAbsent: boolean;
  /** What it said on its error output: may name keys and addresses, so it is looked at and never shown. */
  readonly said: string;
  /** With which it ended; null: it did not end by itself. */
  readonly status: number | null;
  /** What it wrote on its output until then. */
  readonly output: string;

  constructor(message: string, isAbsent: boolean, said: string, status: number | null, output = '') {
    super(message);
    this.isAbsent = isAbsent;
    this.said = said;
    this.status = status;
    this.output = output;
  }
}

/** Words of the system that may be repeated, as they name nothing but the cause. */
const CAUSES = [
  'Operation not permitted',
  'Permission denied',
  'Address already in use',
  'Operation not supported',
  'Protocol not supported',
  'Unknown device type',
  'File exists',
  'No such device',
  'Cannot find device',
  'does not exist',
  'Device or resource busy',
  'Read-only file system',
  'No buffer space available',
  'Cannot allocate memory',
  'Invalid argument',
];

/** Exit status of a shell whose command is not there. Source: POSIX, XCU 2.8.2. */
const NOT_FOUND_STATUS = 127;

/** What a program writes, given `input` on its standard input. Rejects with a `ProgramFailure`. */
export function run(program: string, words: readonly string[], limits: RunLimits, input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      timeout: limits.programMsMax,
      killSignal: 'SIGKILL',
      maxBuffer: limits.programBytesMax,
      encoding: 'latin1',
      env: programEnvironment(),
    } as const;
    const child = execute(program, words, options, (error, output, said) =>
      error === null ? resolve(output) : reject(failureOf(program, error, said, output)),
    );
    child?.stdin?.on('error', () => {}).end(input, 'latin1'); // one that reads nothing, or is not there, closes it first
  });
}

/**
 * As `run`, for a program that reads its input as the file /dev/stdin. Node gives its children a socket, which cannot
 * be opened as a file, so a shell puts a pipe between: neither a file nor a command line holds what is given.
 */
export async function runFed(
  program: string,
  words: readonly string[],
  limits: RunLimits,
  input: string,
): Promise<string> {
  try {
    return await run('sh', ['-c', 'cat | "$@"', 'sh', program, ...words], limits, input);
  } catch (error) {
    if (!(error instanceof ProgramFailure)) throw error;
    if (error.status === NOT_FOUND_STATUS) throw absentProgram(program);
    throw new ProgramFailure(error.message.replace('sh', program), false, error.said, error.status);
  }
}

/** It is not on this machine: said with the package that has it. */
export function absentProgram(program: string): ProgramFailure {
  return new ProgramFailure(
    `the program ${program} is not on this machine: install ${PACKAGES[program] ?? 'it'}`,
    true,
    '',
    null,
  );
}

function failureOf(program: string, error: ExecFileException, said: string, output: string): ProgramFailure {
  if (error.code === 'ENOENT') return absentProgram(program);
  const cause =
    error.killed === true
      ? 'it took too long'
      : (CAUSES.find((words) => said.includes(words)) ?? failureWithout(error));
  const status = typeof error.code === 'number' ? error.code : null;
  return new ProgramFailure(`${program}: ${cause}`, false, said, status, output);
}

/** Of a program that says nothing known, or was not started: a code that is text is the system's or Node's. */
function failureWithout({ code }: ExecFileException): string {
  return typeof code === 'string' ? `it failed (${code})` : 'it failed';
}
