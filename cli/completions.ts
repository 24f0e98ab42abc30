/** What may stand at the cursor of a command line of `edge`. */
import type { Command as Program, Option } from 'commander';
import type { Api } from './service/client.ts';
import { connectionFrom } from './service/connection.ts';
import { chooseContext, readContexts } from './service/contexts.ts';
import { firstRows } from './service/pages.ts';

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
  admin: async (api) => (await import('./names/admins.ts')).adminNames(api),
};

/** Commands whose words are for programs of others, and what stands behind the name of a node there. */
const FOREIGN: Readonly<Record<string, string>> = { ssh: '', cp: ':' };

/** What may stand there. */
export interface Candidate {
  readonly word: string;
  /** What it is, in one line; empty for names, which say themselves what they are. */
  readonly summary: string;
}

/** The candidates for the last of these words. Never rejects: a service that is away offers no names. */
export async function candidatesFor(program: Program, words: readonly string[]): Promise<readonly Candidate[]> {
  const typed = words.at(-1) ?? '';
  const { command, given, option } = whereIs(program, words.slice(0, -1));
  const names = (kind: string): Promise<readonly string[]> => namesAt(connectionWords(words), kind);
  const values = async (of: Option, value: string): Promise<readonly string[]> =>
    of.long === '--context' ? contextNames() : (of.argChoices ?? afterComma(value, await names(kindOfOption(of))));
  if (option !== null) return plain(await values(option, typed));

  const joined = /^(?<long>--[\w-]+)=(?<value>.*)$/su.exec(typed)?.groups;
  const meant = joined && optionsOf(command).find(({ long }) => long === joined['long']);
  if (joined !== undefined)
    return meant?.required === true
      ? plain((await values(meant, joined['value'] ?? '')).map((value) => `${joined['long']}=${value}`))
      : [];
  if (typed.startsWith('-')) return optionsOf(command).flatMap(optionCandidate);
  if (command.commands.length > 0) return command.commands.flatMap(commandCandidate);
  const behind = FOREIGN[command.name()];
  if (behind !== undefined && command.parent === program)
    return plain((await names('node')).map((name) => `${userOf(typed)}${name}${behind}`));
  const expected = command.registeredArguments;
  const argument = expected[given] ?? (expected.at(-1)?.variadic === true ? expected.at(-1) : undefined);
  return plain(argument?.argChoices ?? (await names(argument?.name() ?? '')));
}

/** Candidates as shells take them: a line each, with what they are behind a tab if asked for. */
export function candidateLines(candidates: readonly Candidate[], isDescribed: boolean): string {
  return candidates
    .map(({ word, summary }) => (isDescribed && summary !== '' ? `${word}\t${summary}\n` : `${word}\n`))
    .join('');
}

function plain(words: readonly string[]): readonly Candidate[] {
  return words.map((word) => ({ word, summary: '' }));
}

function optionCandidate({ hidden, long, short, description }: Option): readonly Candidate[] {
  return hidden ? [] : [{ word: long ?? short ?? '', summary: oneLine(description) }];
}

function commandCandidate(child: Program): readonly Candidate[] {
  return child.name().startsWith('_') ? [] : [{ word: child.name(), summary: oneLine(child.description()) }];
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').trim();
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
      const known = optionsOf(command).find(({ long, short }) => long === word || short === word);
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

function optionsOf(command: Program): readonly Option[] {
  return chain(command).flatMap((one) => one.options);
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
  const { createClient } = await import('./service/client.ts');
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
  const { labelsOf } = await import('./names/node-names.ts');
  return [...labelsOf(rows).values()];
}

async function clusterNames(api: Api): Promise<readonly string[]> {
  const { rows } = await firstRows(NAMES_MAX, (page) => api.list_clusters.query(page));
  return rows.map(({ name }) => name);
}
