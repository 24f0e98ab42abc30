/** What may stand at the cursor of a command line of `edge`. */
import type { Command as Program, Option } from 'commander';
import type { Api } from './client.ts';
import { connectionFrom } from './connection.ts';
import { firstRows } from './pages.ts';

/** Names that are offered of one kind. */
const NAMES_MAX = 1_000;

/** Somebody waits at the prompt: what is not there by then is not offered. In ms. */
const ASKED_MS_MAX = 2_000;

/** Names that are words for every shell: what a machine calls itself may be a command there. */
const PLAIN_WORD = /^[\w@%+=:,./][\w@%+=:,./-]*$/u;

/** What an argument or the value of an option names, by what these are called. */
const KINDS: Readonly<Record<string, (api: Api) => Promise<readonly string[]>>> = {
  node: nodeNames,
  nodes: nodeNames,
  cluster: clusterNames,
};

/** The candidates for the last of these words. Never rejects: a service that is away offers no names. */
export async function candidatesFor(program: Program, words: readonly string[]): Promise<readonly string[]> {
  const typed = words.at(-1) ?? '';
  const { command, given, option } = whereIs(program, words.slice(0, -1));
  if (option !== null) return option.argChoices ?? names(kindOfOption(option));
  if (typed.startsWith('-'))
    return chain(command).flatMap((one) =>
      one.options.flatMap((known) => (known.hidden ? [] : (known.long ?? known.short ?? []))),
    );
  if (command.commands.length > 0)
    return command.commands.map((child) => child.name()).filter((name) => !name.startsWith('_'));
  const expected = command.registeredArguments;
  const argument = expected[given] ?? (expected.at(-1)?.variadic === true ? expected.at(-1) : undefined);
  return argument?.argChoices ?? names(argument?.name() ?? '');
}

interface Place {
  readonly command: Program;
  /** Arguments of it that are there already. */
  readonly given: number;
  /** The option whose value is to come. */
  readonly option: Option | null;
}

/** Follows words down to the command that they lead to. */
function whereIs(program: Program, words: readonly string[]): Place {
  let command = program;
  let given = 0;
  let option: Option | null = null;
  for (const word of words) {
    if (option !== null) {
      option = null;
      continue;
    }
    if (word.startsWith('-')) {
      const known = chain(command)
        .flatMap((one) => one.options)
        .find(({ long, short }) => long === word || short === word);
      option = known?.required === true ? known : null;
      continue;
    }
    const child: Program | undefined = command.commands.find(
      (one) => one.name() === word || one.aliases().includes(word),
    );
    if (child === undefined) given += 1;
    else command = child;
  }
  return { command, given, option };
}

/** A command and those above it, whose options it takes too. */
function chain(command: Program): readonly Program[] {
  return command.parent === null ? [command] : [command, ...chain(command.parent)];
}

function kindOfOption({ long }: Option): string {
  return (long ?? '').replace(/^--/u, '');
}

async function names(kind: string): Promise<readonly string[]> {
  const ask = KINDS[kind];
  if (ask === undefined) return [];
  const { createClient } = await import('./client.ts');
  try {
    const late = new Promise<readonly string[]>((resolve) => {
      setTimeout(() => resolve([]), ASKED_MS_MAX).unref();
    });
    const found = await Promise.race([ask(createClient(connectionFrom({}, process.env))), late]);
    return found.filter((name) => PLAIN_WORD.test(name));
  } catch {
    return [];
  }
}

/** Names that no other node has, and short ids of the others. */
async function nodeNames(api: Api): Promise<readonly string[]> {
  const { rows } = await firstRows(NAMES_MAX, (page) => api.list_nodes.query(page));
  const { labelsOf } = await import('./node-names.ts');
  return [...labelsOf(rows).values()];
}

async function clusterNames(api: Api): Promise<readonly string[]> {
  const { rows } = await firstRows(NAMES_MAX, (page) => api.list_clusters.query(page));
  return rows.map(({ name }) => name);
}
