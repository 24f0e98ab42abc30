/** Every command of our programs, as its own help tells of it. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { createProgram } from '../../cli/program.ts';

/** Columns of the help on the page. Wide enough for most lines, narrow enough for a screen. */
const HELP_COLUMNS = 110;

/** Programs that print their help themselves; their settings are in docs/settings.md. */
const PLAIN_PROGRAMS = ['edge-admin', 'edge-agent', 'edge-updater'] as const;
type Plain = (typeof PLAIN_PROGRAMS)[number];

/** A line of usage: a command with what it takes, and what it does. */
const USAGE = /^ {2}(?<line>edge-\w+ (?<takes>\S.*))$/gmu;

const PROGRAM = await createProgram();

/** All commands of `edge` that do something, by their words, without those that commander adds. */
export function edgeCommands(): ReadonlyMap<string, Command> {
  return new Map(below(PROGRAM).map((command) => [wordsOf(command), command]));
}

/** A section for each command of `edge`: its help, as it prints it. */
export function edgeHelp(): string {
  const commands = [...edgeCommands()].filter(([, command]) => command.commands.length === 0);
  return commands.map(([words, command]) => `### ${words}\n\n${fenced(helpOf(command))}\n`).join('\n');
}

/** A command of one of our programs. */
export interface KnownCommand {
  /**
   * Those that it takes, also with those of the commands above it; null: whatever is written goes to another program.
   */
  readonly options: readonly string[] | null;
  /** Whether commands follow it, and no arguments of its own. */
  readonly hasCommands: boolean;
}

/** All commands of our programs, by their words with the program's name. */
export function knownCommands(): ReadonlyMap<string, KnownCommand> {
  const known = new Map<string, KnownCommand>();
  for (const [words, command] of edgeCommands())
    known.set(words, { options: optionsOf(command), hasCommands: command.commands.length > 0 });
  for (const program of PLAIN_PROGRAMS)
    for (const { groups } of plainHelp(program).matchAll(USAGE)) {
      const takes = groups?.['takes'] ?? '';
      const command = /^[a-z][a-z-]*/u.exec(takes)?.[0];
      if (command !== undefined)
        known.set(`${program} ${command}`, {
          options: [...(groups?.['line']?.match(/--[a-z-]+/gu) ?? []), '--help'],
          hasCommands: false,
        });
    }
  return known;
}

function optionsOf(command: Command): string[] | null {
  const [own] = command.registeredArguments;
  if (own?.name() === 'words') return null; // those of OpenSSH
  const above = command.parent === null ? ['-h', '--help'] : (optionsOf(command.parent) ?? []);
  return [
    ...above,
    ...command.options.flatMap(({ short, long }) => [short, long].filter((each) => each !== undefined)),
  ];
}

/** The usage of a program, without its settings. */
export function plainHelp(program: Plain): string {
  const path = fileURLToPath(new URL(`../../cli/${program}.ts`, import.meta.url));
  const help = execFileSync(process.execPath, [path, '--help'], { encoding: 'utf8', env: {} });
  return `${fenced(help.replace(/\nSettings[^\n]*:\n[\s\S]*$/u, ''))}\n`;
}

function below(command: Command): Command[] {
  return command.commands.filter((child) => child.name() !== 'help').flatMap((child) => [child, ...below(child)]);
}

function wordsOf(command: Command): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;
}

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (piece) => {
      text += piece;
    },
    getOutHelpWidth: () => HELP_COLUMNS,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return text;
}

function fenced(text: string): string {
  return `\`\`\`text\n${text.trim()}\n\`\`\``;
}
