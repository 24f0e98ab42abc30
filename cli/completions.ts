/** What may stand at the cursor of a command line of `edge`. */
import type { Command as Program, Option } from 'commander';
import type { Api } from './client.ts';
import { connectionFrom } from './connection.ts';
import { chooseContext, readContexts } from './contexts.ts';
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
  admin: async (api) => (await import('./admins.ts')).adminNames(api),
};

/** Commands whose words are for programs of others, and what stands behind the name of a node there. */
const FOREIGN: Readonly<Record<string, string>> = { ssh: '', cp: ':' };

/** The candidates for the last of these words. Never rejects: a service that is away offers no names. */
export async function candidatesFor(program: Program, words: readonly string[]): Promise<readonly string[]> {
  const typed = words.at(-1) ?? '';
  const { command, given, option } = whereIs(program, words.slice(0, -1));
  const names = (kind: string): Promise<readonly string[]> => namesAt(connectionWords(words), kind);
  if (option?.long === '--context') return contextNames();
  if (option !== null) return option.argChoices ?? afterComma(typed, await names(kindOfOption(option)));
  if (typed.startsWith('-'))
    return chain(command).flatMap((one) =>
      one.options.flatMap((known) => (known.hidden ? [] : (known.long ?? known.short ?? []))),
    );
  if (command.commands.length > 0)
    return command.commands.map((child) => child.name()).filter((name) => !name.startsWith('_'));
  const behind = FOREIGN[command.name()];
  if (behind !== undefined && command.parent === program)
    return (await names('node')).map((name) => `${userOf(typed)}${name}${behind}`);
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

/** The names behind those that were typed before, with commas. */
function afterComma(typed: string, names: readonly string[]): readonly string[] {
  const before = typed.slice(0, typed.lastIndexOf(',') + 1);
  return names.filter((name) => !before.split(',').includes(name)).map((name) => before + name);
}

/** `ada@` of what ssh and scp take. */
function userOf(typed: string): string {
  return typed.slice(0, typed.indexOf('@') + 1);
}

/** Which service was named so far: names of another one would lead nowhere. */
function connectionWords(words: readonly string[]): { readonly [Flag in 'url' | 'key' | 'context']?: string } {
  const valueOf = (flag: string): string | undefined =>
    words.flatMap((word, index) => {
      if (word.startsWith(`${flag}=`)) return word.slice(flag.length + 1);
      return words[index - 1] === flag ? word : [];
    })[0];
  const [url, key, context] = ['--url', '--key', '--context'].map(valueOf);
  return {
    ...(url !== undefined && { url }),
    ...(key !== undefined && { key }),
    ...(context !== undefined && { context }),
  };
}

function contextNames(): readonly string[] {
  try {
    return [...readContexts(process.env).connections.keys()].filter((name) => PLAIN_WORD.test(name));
  } catch {
    return [];
  }
}

async function namesAt(
  { context, ...flags }: ReturnType<typeof connectionWords>,
  kind: string,
): Promise<readonly string[]> {
  const ask = KINDS[kind];
  if (ask === undefined) return [];
  const { createClient } = await import('./client.ts');
  try {
    const late = new Promise<readonly string[]>((resolve) => {
      setTimeout(() => resolve([]), ASKED_MS_MAX).unref();
    });
    const env = { ...process.env };
    if (context !== undefined) chooseContext(context, env, { isToBeMade: false });
    const found = await Promise.race([ask(createClient(connectionFrom(flags, env))), late]);
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
