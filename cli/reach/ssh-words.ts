/** The words of ssh and scp, told apart as they do it themselves: options, with or without a value, and the rest. */
import { EXIT, Problem } from '../problem.ts';

/** Options that take a value. Source: getopt strings of ssh.c and scp.c, OpenSSH 10. */
const SSH_VALUES = 'BDEFIJLOPQRSWbceilmopw';
const SCP_VALUES = 'DFJPSXcilo';

/** Settings that do the same, as `-o` takes them. */
const OTHER_SERVER = /^(?:-o)?\s*(?:port|hostname|proxycommand|hostkeyalias)\b/iu;

/** `edge ssh`: options as they were given, in order. */
export interface SshWords {
  readonly options: readonly string[];
  readonly user: string | null;
  readonly node: string;
  readonly command: readonly string[];
}

/** `edge cp`: where on a node a path is; null: on this machine. */
export interface CpOperand {
  readonly node: string | null;
  readonly user: string | null;
  readonly path: string;
}

/** `[OPTIONS] [USER@]NODE [OPTIONS] [--] [COMMAND…]`. Throws a Problem when there is no node. */
export function sshWordsOf(words: readonly string[]): SshWords {
  const before = optionsOf(words, SSH_VALUES, 'ssh');
  const [destination, ...rest] = before.rest;
  if (destination === undefined)
    throw new Problem('a node is missing: edge ssh [OPTIONS] [USER@]NODE [-- COMMAND]', EXIT.usage);
  const after = before.isClosed ? { options: [], rest } : optionsOf(rest, SSH_VALUES, 'ssh');
  return { ...userAndNode(destination), options: [...before.options, ...after.options], command: after.rest };
}

/** `[OPTIONS] SOURCE… TARGET`. Throws a Problem when that is not one node on one side. */
export function cpWordsOf(words: readonly string[]): {
  readonly options: readonly string[];
  readonly node: string;
  readonly operands: readonly CpOperand[];
} {
  const { options, rest } = optionsOf(words, SCP_VALUES, 'scp');
  const operands = rest.map(operandOf);
  const [sources, target] = [operands.slice(0, -1), operands.at(-1)];
  if (target === undefined || sources.length === 0)
    throw new Problem(
      'say what to copy and to where: edge cp [-r] SOURCE… TARGET, one of them as NODE:PATH',
      EXIT.usage,
    );
  const nodes = new Set(operands.flatMap(({ node }) => node ?? []));
  const [node] = nodes;
  if (node === undefined) throw new Problem('nothing of this is on a node: write NODE:PATH for what is', EXIT.usage);
  if (target.node !== null && sources.some((source) => source.node !== null))
    throw new Problem(
      'both sides are on a node: copy to this machine first, or use edge ssh NODE -- cp within one',
      EXIT.usage,
    );
  if (target.node === null && sources.some((source) => source.node === null))
    throw new Problem('some of the sources and the target are on this machine: copy those with cp', EXIT.usage);
  if (nodes.size > 1)
    throw new Problem(
      `this is from ${nodes.size} nodes (${[...nodes].join(', ')}): copy from one at a time`,
      EXIT.usage,
    );
  return { options, node, operands };
}

/**
 * Whether options lead to another server than that of the agent, such as the machine's own sshd: it has keys of its
 * own.
 */
export function namesOtherServer(program: 'ssh' | 'scp', options: readonly string[]): boolean {
  const port = program === 'ssh' ? new RegExp(`^-[^o${SSH_VALUES}]*p`, 'u') : new RegExp(`^-[^o${SCP_VALUES}]*P`, 'u');
  return options.some((word) => port.test(word) || OTHER_SERVER.test(word));
}

interface Options {
  readonly options: readonly string[];
  readonly rest: readonly string[];
  /** `--` ended them. */
  readonly isClosed: boolean;
}

function optionsOf(words: readonly string[], withValue: string, program: string): Options {
  const valueIsNext = new RegExp(`^-[^${withValue}]*[${withValue}]$`, 'u'); // as in -p, -vp; not in -p22
  let at = 0;
  while (at < words.length) {
    const word = words[at] ?? '';
    if (word === '--') return { options: words.slice(0, at), rest: words.slice(at + 1), isClosed: true };
    if (word === '-' || !word.startsWith('-')) break;
    if (word.startsWith('--'))
      throw new Problem(
        `${word} is no option of ${program}; those of edge itself go before the command, as in edge --url URL ssh`,
        EXIT.usage,
      );
    at += valueIsNext.test(word) ? 2 : 1;
  }
  return { options: words.slice(0, at), rest: words.slice(at), isClosed: false };
}

function userAndNode(destination: string): { readonly user: string | null; readonly node: string } {
  const at = destination.lastIndexOf('@');
  const node = destination.slice(at + 1);
  if (node === '' || at === 0) throw new Problem(`"${destination}" is no [USER@]NODE`, EXIT.usage);
  return { user: at === -1 ? null : destination.slice(0, at), node };
}

// As scp sees it: remote is what has a colon before the first slash. Source: colon() in misc.c of OpenSSH.
function operandOf(text: string): CpOperand {
  const colon = text.indexOf(':');
  const slash = text.indexOf('/');
  if (colon <= 0 || (slash !== -1 && slash < colon)) return { node: null, user: null, path: text };
  return { ...userAndNode(text.slice(0, colon)), path: text.slice(colon + 1) };
}
